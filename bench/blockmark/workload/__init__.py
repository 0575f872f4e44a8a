"""What is asked of a block manager: scenarios, programs, and the right answers."""
