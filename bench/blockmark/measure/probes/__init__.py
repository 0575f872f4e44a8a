"""What is read off a replay: times, allocations, memory, the system's own counts."""
