"""The words of a recording: one for each operation that was noted.

A word is a code in 6 bits, `a` in 26 and `b` in the rest. The codes are those of `Op`; a test
holds them together, as a recorder in a live engine imports nothing but this file.
"""

from __future__ import annotations

A, B = 6, 32
MOST_CODE = (1 << A) - 1
MOST_A = (1 << (B - A)) - 1
(CAN_ALLOCATE, ALLOCATE, APPEND, EXTEND, TRUNCATE, DROP_FRONT, FORK, FREE, LOOKUP) = range(9)
PACK, TAKE, GIVE = 10, 11, 12
# The third operand of the operation before; the start of a step.
OPERAND_C, STEP = 62, 63
