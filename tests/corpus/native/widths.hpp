// Numbers that are kept in too few bits, and faults that wait for a count.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "blockmark.hpp"
#include "plain_rows.hpp"
#include "pools/list.hpp"

namespace corpus {

using blockmark::ListPool;

// The row of a sequence is kept in 8 bits: two sequences 256 apart have one row.
// fault: narrow number
class ByteSlotTable : public PlainRows {
 public:
  explicit ByteSlotTable(const blockmark::Sizes& sizes) : PlainRows(sizes) {
    for (std::int64_t seq = 0; seq < sizes.max_seqs; ++seq) {
      slots_.push_back(static_cast<std::uint8_t>(seq));
    }
  }
  id_type get(std::int64_t seq, std::int64_t logical) const {
    return PlainRows::get(slot(seq), logical);
  }
  void append(std::int64_t seq, std::int64_t logical, id_type id) { at(slot(seq), logical) = id; }
  void replace(std::int64_t seq, std::int64_t logical, id_type id) { at(slot(seq), logical) = id; }

 private:
  std::int64_t slot(std::int64_t seq) const { return slots_[static_cast<std::size_t>(seq)]; }

  std::vector<std::uint8_t> slots_;
};

// One map for all blocks. `Self` makes a key of a sequence and a logical block.
template <class Self>
class KeyedTable {
 public:
  using id_type = std::int32_t;
  static constexpr const char* name = "keyed";

  explicit KeyedTable(const blockmark::Sizes&) {}

  id_type get(std::int64_t seq, std::int64_t logical) const {
    const auto found = ids_.find(Self::key(seq, logical));
    return found == ids_.end() ? 0 : found->second;
  }
  void begin(std::int64_t, std::int64_t, std::int64_t) {}
  void append(std::int64_t seq, std::int64_t logical, id_type id) {
    ids_[Self::key(seq, logical)] = id;
  }
  void replace(std::int64_t seq, std::int64_t logical, id_type id) {
    ids_[Self::key(seq, logical)] = id;
  }
  void remove(std::int64_t, std::int64_t) {}
  void end(std::int64_t) {}
  std::int64_t bytes() const { return static_cast<std::int64_t>(ids_.size() * 32); }

 private:
  std::unordered_map<std::int64_t, id_type> ids_;
};

// A key has 12 bits for the sequence.
// fault: narrow number
class TwelveBitSequenceTable : public KeyedTable<TwelveBitSequenceTable> {
 public:
  using KeyedTable<TwelveBitSequenceTable>::KeyedTable;
  static std::int64_t key(std::int64_t seq, std::int64_t logical) {
    return (seq & 0xFFF) << 32 | logical;
  }
};

// A key has 10 bits for the logical block.
// fault: narrow number
class TenBitLogicalTable : public KeyedTable<TenBitLogicalTable> {
 public:
  using KeyedTable<TenBitLogicalTable>::KeyedTable;
  static std::int64_t key(std::int64_t seq, std::int64_t logical) {
    return seq << 10 | (logical & 0x3FF);
  }
};

// A key has room for 512 logical blocks, and a longer row runs into that of the next sequence.
// fault: narrow number
class OverlappingKeysTable : public KeyedTable<OverlappingKeysTable> {
 public:
  using KeyedTable<OverlappingKeysTable>::KeyedTable;
  static std::int64_t key(std::int64_t seq, std::int64_t logical) { return seq * 512 + logical; }
};

// An id that replaces another has 16 bits with a sign, others have 32.
// fault: 16-bit overflow
class ShortReplaceTable : public PlainRows {
 public:
  using PlainRows::PlainRows;
  void replace(std::int64_t seq, std::int64_t logical, id_type id) {
    at(seq, logical) = static_cast<std::int16_t>(id);
  }
};

// Rows end at 128 blocks: what is appended behind that is forgotten.
// fault: long tables
class TailDroppingTable : public PlainRows {
 public:
  using PlainRows::PlainRows;
  void append(std::int64_t seq, std::int64_t logical, id_type id) {
    if (logical < 128) at(seq, logical) = id;
  }
};

// The next block that is given after 65,536 others is lost.
// fault: late
class LosesOneLatePool : public ListPool<std::int32_t> {
 public:
  using ListPool<std::int32_t>::ListPool;
  void give(std::int32_t id) {
    if (++gives_ != 65'537) ListPool<std::int32_t>::give(id);
  }

 private:
  std::int64_t gives_ = 0;
};

// After 100,000 appends a block goes into the place in front of its own.
// fault: late
class LateAppendTable : public PlainRows {
 public:
  using PlainRows::PlainRows;
  void append(std::int64_t seq, std::int64_t logical, id_type id) {
    const bool late = ++appends_ > 100'000 && logical > 0;
    at(seq, logical - late) = id;
  }

 private:
  std::int64_t appends_ = 0;
};

BLOCKMARK_TABLE(ByteSlotTable);
BLOCKMARK_TABLE(TwelveBitSequenceTable);
BLOCKMARK_TABLE(TenBitLogicalTable);
BLOCKMARK_TABLE(OverlappingKeysTable);
BLOCKMARK_TABLE(ShortReplaceTable);
BLOCKMARK_TABLE(TailDroppingTable);
BLOCKMARK_POOL(LosesOneLatePool);
BLOCKMARK_TABLE(LateAppendTable);

}  // namespace corpus
