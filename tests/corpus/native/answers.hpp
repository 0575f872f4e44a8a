// Whole managers whose tables are right, and whose answers are not.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "blockmark.hpp"
#include "plain_manager.hpp"

namespace corpus {

// The zeros behind a packed row are written the first time that a sequence is packed.
// fault: pack
class TailsOnceManager : public PlainManager<TailsOnceManager> {
 public:
  explicit TailsOnceManager(const blockmark::Sizes& sizes)
      : PlainManager<TailsOnceManager>(sizes),
        packed_(static_cast<std::size_t>(sizes.max_seqs), false) {}
  void write_row(std::int64_t seq, const Row& row, std::int32_t* out, std::int64_t width) const {
    const bool again = packed_[static_cast<std::size_t>(seq)];
    packed_[static_cast<std::size_t>(seq)] = true;
    PlainManager<TailsOnceManager>::write_row(seq, row, out, again ? row.end() : width);
  }

 private:
  mutable std::vector<bool> packed_;
};

// Packed rows end at 128 blocks; what lies behind is zero.
// fault: pack
class CutRowsManager : public PlainManager<CutRowsManager> {
 public:
  using PlainManager<CutRowsManager>::PlainManager;
  void write_row(std::int64_t seq, const Row& row, std::int32_t* out, std::int64_t width) const {
    PlainManager<CutRowsManager>::write_row(seq, row, out, width);
    for (std::int64_t i = 128; i < width; ++i) out[i] = 0;
  }
};

// Every packed row has the length of the first one where eight and more are packed.
// fault: pack
class OneLengthManager : public PlainManager<OneLengthManager> {
 public:
  using PlainManager<OneLengthManager>::PlainManager;
  void write_block_tables(const std::int32_t* seqs, std::int64_t count, std::int32_t* out,
                          std::int64_t width, std::int32_t* lengths) const {
    PlainManager<OneLengthManager>::write_block_tables(seqs, count, out, width, lengths);
    if (count >= 8) std::fill_n(lengths, count, lengths[0]);
  }
};

// A table that is wider than the rows is cut, and no error is raised.
// fault: wrong error class
class CutsWideRowsManager : public PlainManager<CutsWideRowsManager> {
 public:
  using PlainManager<CutsWideRowsManager>::PlainManager;
  void write_block_tables(const std::int32_t* seqs, std::int64_t count, std::int32_t* out,
                          std::int64_t width, std::int32_t* lengths) const {
    for (std::int64_t i = 0; i < count; ++i) {
      const Row& row = live(seqs[i]);
      write_row(seqs[i], row, out + i * width, width);
      lengths[i] = static_cast<std::int32_t>(std::min(row.end(), width));
    }
  }
};

// A block that was dropped is looked up as if it were still there.
// fault: drop_front
class FindsDroppedManager : public PlainManager<FindsDroppedManager> {
 public:
  using PlainManager<FindsDroppedManager>::PlainManager;
  id_type lookup(std::int64_t seq, std::int64_t logical) const {
    const Row& row = live(seq);
    if (logical >= 0 && logical < row.first) return row.at(logical);
    return PlainManager<FindsDroppedManager>::lookup(seq, logical);
  }
};

// No blocks are said to be too many where none is free.
// fault: exhaustion
class RefusesNothingManager : public PlainManager<RefusesNothingManager> {
 public:
  using PlainManager<RefusesNothingManager>::PlainManager;
  bool can_allocate(std::int64_t blocks) const { return num_free() > 0 && blocks <= num_free(); }
};

// Lengths have 16 bits with a sign, and are negative from 32,768 tokens on.
// fault: 16-bit overflow
class ShortLengthManager : public PlainManager<ShortLengthManager> {
 public:
  using PlainManager<ShortLengthManager>::PlainManager;
  std::int64_t num_tokens(std::int64_t seq) const {
    return static_cast<std::int16_t>(PlainManager<ShortLengthManager>::num_tokens(seq));
  }
};

// The bytes of the tables are counted down by each sequence, and end below zero.
// fault: bytes
class NegativeTableBytesManager : public PlainManager<NegativeTableBytesManager> {
 public:
  using PlainManager<NegativeTableBytesManager>::PlainManager;
  std::int64_t table_bytes() const {
    std::int64_t bytes = 0;
    for (const Row& row : rows_) bytes -= row.end() * static_cast<std::int64_t>(sizeof(id_type));
    return bytes;
  }
};

// The bytes of the pool have 8 bits with a sign.
// fault: bytes
class BytePoolBytesManager : public PlainManager<BytePoolBytesManager> {
 public:
  using PlainManager<BytePoolBytesManager>::PlainManager;
  std::int64_t pool_bytes() const {
    return static_cast<std::int8_t>(PlainManager<BytePoolBytesManager>::pool_bytes() | 0x80);
  }
};

BLOCKMARK_MANAGER(TailsOnceManager);
BLOCKMARK_MANAGER(CutRowsManager);
BLOCKMARK_MANAGER(OneLengthManager);
BLOCKMARK_MANAGER(CutsWideRowsManager);
BLOCKMARK_MANAGER(FindsDroppedManager);
BLOCKMARK_MANAGER(RefusesNothingManager);
BLOCKMARK_MANAGER(ShortLengthManager);
BLOCKMARK_MANAGER(NegativeTableBytesManager);
BLOCKMARK_MANAGER(BytePoolBytesManager);

}  // namespace corpus
