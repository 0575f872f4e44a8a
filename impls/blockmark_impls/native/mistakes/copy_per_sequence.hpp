// The mistake: block tables sent one by one. Each row is packed by a call of its own into
// one small staging buffer and copied from there to its place, as a transfer for every
// sequence does, instead of one flattened batch that goes at once.
#pragma once

#include <cstdint>
#include <cstring>

#include "../aligned_array.hpp"
#include "right.hpp"

namespace blockmark {

class CopyPerSequenceManager : public RightManager {
 public:
  explicit CopyPerSequenceManager(const Sizes& sizes)
      : RightManager(sizes), staging_(sizes.max_blocks_per_seq, 0) {}

  [[gnu::noinline]] void write_block_tables(const std::int32_t* seqs, std::int64_t count,
                                            std::int32_t* out, std::int64_t width,
                                            std::int32_t* lengths) const {
    for (std::int64_t i = 0; i < count; ++i) {
      // A row wider than any table is zero behind it.
      const std::int64_t packed = std::min(width, staging_.size());
      RightManager::write_block_tables(seqs + i, 1, staging_.data(), packed, lengths + i);
      std::int32_t* row = out + i * width;
      send(row, staging_.data(), packed);
      for (std::int64_t at = packed; at < width; ++at) row[at] = 0;
      ++copies_sent_;
    }
  }

  // Copies that packing has made since the manager exists.
  std::int64_t copies_sent() const { return copies_sent_; }

 private:
  // Out of line: a transfer's call is never merged with the next one.
  [[gnu::noinline]] static void send(std::int32_t* to, const std::int32_t* from,
                                     std::int64_t count) {
    std::memcpy(to, from, static_cast<std::size_t>(count) * sizeof(std::int32_t));
  }

  mutable AlignedArray<std::int32_t> staging_;
  mutable std::int64_t copies_sent_ = 0;
};

}  // namespace blockmark
