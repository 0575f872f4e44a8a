"""Managers that are wrong on purpose, each with one known mistake, to tell what it costs."""
