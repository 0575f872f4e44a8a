"""The schemes in plain Python (and NumPy), one structure a file."""
