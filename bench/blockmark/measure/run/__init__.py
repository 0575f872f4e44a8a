"""A run: what it is going to do, how it is carried out, and what comes of it."""
