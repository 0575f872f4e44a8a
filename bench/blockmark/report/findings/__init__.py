"""What the numbers say, in sentences, and what they do not tell."""
