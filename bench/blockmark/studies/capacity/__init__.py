"""What a memory budget holds, by the way in which it is divided."""
