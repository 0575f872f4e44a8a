"""Rows of 32 ids beside cache lines: what width and alignment cost."""
