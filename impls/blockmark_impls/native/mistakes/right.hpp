// What every mistake is measured against, and most are made from: a flat table of 16-bit
// ids and a preallocated stack.
#pragma once

#include <cstdint>

#include "../manager.hpp"
#include "../pools/stack.hpp"
#include "../ref_counts.hpp"
#include "../tables/flat.hpp"

namespace blockmark {

using RightManager = Manager<FlatTable<std::uint16_t>, StackPool<std::uint16_t>, ArrayRefCounts>;

}  // namespace blockmark
