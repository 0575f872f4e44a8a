"""Threads or coroutines that share one pool of free blocks."""
