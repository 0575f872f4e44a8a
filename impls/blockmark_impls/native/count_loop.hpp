// A loop whose counts are known, for finding out whether a counter counts: some machines
// open one that stays 0.
#pragma once

#include <cstdint>

namespace blockmark {

// As many loads as iterations, each an instruction at least, from a table that holds 0 to
// 255 and is gone through again and again. Returns their sum. Throws Error(value) if
// `iterations` is negative.
std::uint64_t count_loop(std::int64_t iterations);

}  // namespace blockmark
