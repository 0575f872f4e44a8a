"""Numbers out of runs, comparisons out of numbers: pure functions, no text, no disk."""
