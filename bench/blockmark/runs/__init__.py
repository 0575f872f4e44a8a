"""The waist of blockmark: a run on disk is all that passes from measuring to judging.

`metrics` is the table of what can be measured, `model` a run in memory, `store`
a run on disk, `estimate` how rounds become one value. Nothing here imports
another part of blockmark, an implementation, or (at import time) numpy.
"""
