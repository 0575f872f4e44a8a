"""blockmark: microbenchmarks for the block manager of a paged KV cache."""

__version__ = "0.1.0"
