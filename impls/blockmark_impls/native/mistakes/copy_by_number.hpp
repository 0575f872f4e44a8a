// The mistake: copy-on-write whenever the block that is written has the logical number of
// the block in the table, which is always so. A sequence that shares nothing copies too,
// on every append but the first of a block. The ref counts stay right: the copied block
// loses one, and goes back to the pool where that was the last. It goes back after the
// copy is told, as nobody may take a block that is still read, so a copy needs one block
// more than there should be.
#pragma once

#include <cstdint>

#include "right.hpp"

namespace blockmark {

struct CopyByNumber {
  static constexpr bool others_keep_it = false;

  template <RefCounting Refs>
  static bool needed(const Refs&, std::int64_t) {
    return true;
  }
};

using CopyByNumberManager = Manager<FlatTable<std::uint16_t>, StackPool<std::uint16_t>,
                                    ArrayRefCounts, CopyByNumber>;

}  // namespace blockmark
