"""Runs and verdicts for people to read: one renderer a file."""
