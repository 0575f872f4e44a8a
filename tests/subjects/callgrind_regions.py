"""Known work inside and outside regions; run it under callgrind. Each part is a dump."""

import blockmark_impls._native as native
from native_programs import ALLOCATE, LOOKUP, flat, program

LOOKUPS = 20_000
steps = [
    (0, [(ALLOCATE, [(0, 1)])]),
    (1, [(LOOKUP, [(0, 0)] * LOOKUPS)]),
    (2, [(LOOKUP, [(0, 0)])]),
    (0, [(LOOKUP, [(0, 0)] * LOOKUPS)]),
]
made, manager = program(steps, 1), flat(4, 1, 1, 1)
manager.replay_setup(made)

assert native.running_on_valgrind()
native.callgrind_start_instrumentation()
manager.replay(made, 0, 3)
region = native.CallgrindRegion()

native.count_loop(100_000)
native.callgrind_dump("outside")

region.enter()
region.enter()  # as once
native.count_loop(100_000)
region.leave()
region.leave()
native.callgrind_dump("loop")

manager.replay_within(made, 0, 3, 1, region)
native.callgrind_dump("phase 1")

manager.replay_within(made, 0, 6, 1, region)
native.callgrind_dump("phase 1 twice")

manager.replay_within(made, 0, 3, 2, region)
native.callgrind_dump("phase 2")
native.callgrind_stop_instrumentation()
