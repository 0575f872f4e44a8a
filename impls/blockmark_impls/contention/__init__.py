"""Pools and engines that several threads or coroutines share, and counts whose lines they share."""
