"""Threads that write their own counts on common cache lines."""
