"""Running programs: proof of the right answer, then costs, one process a round."""
