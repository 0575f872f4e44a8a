"""Block managers to be measured. This package knows nothing of blockmark."""
