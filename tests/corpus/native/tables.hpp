// Block tables of the C++ core that are each wrong in one way.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <map>
#include <utility>
#include <vector>

#include "blockmark.hpp"

namespace corpus {

// The plainest right table, from which each wrong one differs in one operation.
class PlainTable {
 public:
  using id_type = std::int32_t;
  static constexpr const char* name = "plain";

  explicit PlainTable(const blockmark::Sizes& sizes)
      : rows_(static_cast<std::size_t>(sizes.max_seqs),
              std::vector<id_type>(static_cast<std::size_t>(sizes.max_blocks_per_seq), 0)) {}

  id_type get(std::int64_t seq, std::int64_t logical) const { return row(seq)[at(logical)]; }
  void begin(std::int64_t, std::int64_t, std::int64_t) {}
  void append(std::int64_t seq, std::int64_t logical, id_type id) { row(seq)[at(logical)] = id; }
  void replace(std::int64_t seq, std::int64_t logical, id_type id) { row(seq)[at(logical)] = id; }
  void remove(std::int64_t, std::int64_t) {}
  void end(std::int64_t) {}
  std::int64_t bytes() const { return 0; }

 protected:
  static std::size_t at(std::int64_t logical) { return static_cast<std::size_t>(logical); }
  std::vector<id_type>& row(std::int64_t seq) { return rows_[static_cast<std::size_t>(seq)]; }
  const std::vector<id_type>& row(std::int64_t seq) const {
    return rows_[static_cast<std::size_t>(seq)];
  }

 private:
  std::vector<std::vector<id_type>> rows_;
};

// Copy-on-write leaves the shared block in the table.
// fault: copy-on-write
class KeepsSharedTable : public PlainTable {
 public:
  using PlainTable::PlainTable;
  void replace(std::int64_t, std::int64_t, id_type) {}
};

// Rows are one place short, so that the last block of one is the first of the next.
// fault: block boundary
class ShortRowsTable {
 public:
  using id_type = std::int32_t;
  static constexpr const char* name = "short-rows";

  explicit ShortRowsTable(const blockmark::Sizes& sizes)
      : width_(sizes.max_blocks_per_seq - (sizes.max_blocks_per_seq > 1)),
        ids_(static_cast<std::size_t>((sizes.max_seqs + 1) * sizes.max_blocks_per_seq), 0) {}

  id_type get(std::int64_t seq, std::int64_t logical) const { return ids_[at(seq, logical)]; }
  void begin(std::int64_t, std::int64_t, std::int64_t) {}
  void append(std::int64_t seq, std::int64_t logical, id_type id) { ids_[at(seq, logical)] = id; }
  void replace(std::int64_t seq, std::int64_t logical, id_type id) { ids_[at(seq, logical)] = id; }
  void remove(std::int64_t, std::int64_t) {}
  void end(std::int64_t) {}
  std::int64_t bytes() const { return 0; }

 private:
  std::size_t at(std::int64_t seq, std::int64_t logical) const {
    return static_cast<std::size_t>(seq * width_ + logical);
  }

  std::int64_t width_;
  std::vector<id_type> ids_;
};

// A sequence that ends leaves its entries in a map, and the next one finds them.
// fault: use after free
class StaleMapTable {
 public:
  using id_type = std::int32_t;
  static constexpr const char* name = "stale-map";

  explicit StaleMapTable(const blockmark::Sizes&) {}

  id_type get(std::int64_t seq, std::int64_t logical) const { return ids_.at({seq, logical}); }
  void begin(std::int64_t, std::int64_t, std::int64_t) {}
  void append(std::int64_t seq, std::int64_t logical, id_type id) {
    ids_.try_emplace({seq, logical}, id);
  }
  void replace(std::int64_t seq, std::int64_t logical, id_type id) { ids_[{seq, logical}] = id; }
  void remove(std::int64_t seq, std::int64_t logical) { ids_.erase({seq, logical}); }
  void end(std::int64_t) {}
  std::int64_t bytes() const { return 0; }

 private:
  std::map<std::pair<std::int64_t, std::int64_t>, id_type> ids_;
};

// The first block that is dropped takes its neighbour's place.
// fault: drop_front
class ShiftingTable : public PlainTable {
 public:
  using PlainTable::PlainTable;
  void remove(std::int64_t seq, std::int64_t logical) {
    if (logical == 0 && row(seq).size() > 1) row(seq)[1] = row(seq)[0];
  }
};

// Ids are stored in 16 bits; the table promises 32.
// fault: 16-bit overflow
class ShortIdTable : public PlainTable {
 public:
  using PlainTable::PlainTable;
  void append(std::int64_t seq, std::int64_t logical, id_type id) {
    PlainTable::append(seq, logical, static_cast<std::uint16_t>(id));
  }
};

// An entry of a long row is looked up in the wrong page.
// fault: late
class WrongPageTable : public PlainTable {
 public:
  using PlainTable::PlainTable;
  id_type get(std::int64_t seq, std::int64_t logical) const {
    return PlainTable::get(seq, logical >= 32 ? logical ^ 1 : logical);
  }
};

// A copy ends the process.
// fault: crash
// alone
class AbortingTable : public PlainTable {
 public:
  using PlainTable::PlainTable;
  void replace(std::int64_t, std::int64_t, id_type) { std::abort(); }
};

// Taking the last block off a row never comes back.
// fault: hang
// alone
class HangingTable : public PlainTable {
 public:
  using PlainTable::PlainTable;
  void remove(std::int64_t, std::int64_t) {
    for (volatile bool on = true; on;) {
    }
  }
};

BLOCKMARK_TABLE(KeepsSharedTable);
BLOCKMARK_TABLE(ShortRowsTable);
BLOCKMARK_TABLE(StaleMapTable);
BLOCKMARK_TABLE(ShiftingTable);
BLOCKMARK_TABLE(ShortIdTable);
BLOCKMARK_TABLE(WrongPageTable);
BLOCKMARK_TABLE(AbortingTable);
BLOCKMARK_TABLE(HangingTable);

}  // namespace corpus
