// Open addressing, one table a sequence: what a good hash map would cost.
//
// Keys and values side by side, so that a hit is one cache line; a power of two of
// them, at most half used, linear probing; deletion moves later entries back instead
// of leaving tombstones, so that a table under a sliding window does not fill up.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "../contract.hpp"

namespace blockmark {

class OpenHashTable {
 public:
  using id_type = std::int32_t;
  static constexpr const char* name = "open-hash";

  explicit OpenHashTable(const Sizes& sizes) : rows_(static_cast<std::size_t>(sizes.max_seqs)) {}

  id_type get(std::int64_t seq, std::int64_t logical) const {
    const Row& r = rows_[static_cast<std::size_t>(seq)];
    return r.entries[r.find(static_cast<std::int32_t>(logical))].value;
  }
  void begin(std::int64_t seq, std::int64_t first, std::int64_t count) {
    row(seq).resize(static_cast<std::size_t>(count - first));
  }
  void append(std::int64_t seq, std::int64_t logical, id_type id) {
    Row& r = row(seq);
    if ((r.used + 1) * 2 > r.entries.size()) [[unlikely]] r.resize(r.used + 1);
    r.insert({static_cast<std::int32_t>(logical), id});
    ++r.used;
  }
  void replace(std::int64_t seq, std::int64_t logical, id_type id) {
    Row& r = row(seq);
    r.entries[r.find(static_cast<std::int32_t>(logical))].value = id;
  }
  void remove(std::int64_t seq, std::int64_t logical) {
    row(seq).erase(static_cast<std::int32_t>(logical));
  }
  void end(std::int64_t seq) { row(seq) = Row(); }

  std::int64_t bytes() const {
    std::int64_t sum = static_cast<std::int64_t>(rows_.capacity() * sizeof(Row));
    for (const Row& r : rows_) {
      sum += malloc_chunk(static_cast<std::int64_t>(r.entries.capacity() * sizeof(Entry)));
    }
    return sum;
  }

 private:
  static constexpr std::int32_t empty = -1;

  struct Entry {
    std::int32_t key = empty;
    std::int32_t value = 0;
  };

  struct Row {
    std::vector<Entry> entries;
    std::size_t used = 0;
    // entries.size() - 1, kept so that a lookup loads one number and forms none.
    std::size_t mask = 0;

    // The hash of ankerl::unordered_dense for integers: both halves of a 128-bit product,
    // folded. A plain multiplication would be a perfect hash of the consecutive keys that
    // come here, which a general hash map cannot hope for.
    std::size_t home(std::int32_t key) const {
      const auto product = static_cast<unsigned __int128>(static_cast<std::uint32_t>(key)) *
                           0x9e3779b97f4a7c15u;
      return static_cast<std::size_t>(product ^ (product >> 64)) & mask;
    }

    std::size_t find(std::int32_t key) const {
      std::size_t at = home(key);
      while (entries[at].key != key) at = (at + 1) & mask;
      return at;
    }
    void insert(Entry entry) {
      std::size_t at = home(entry.key);
      while (entries[at].key != empty) at = (at + 1) & mask;
      entries[at] = entry;
    }
    void resize(std::size_t count) {
      const std::size_t capacity = std::bit_ceil(count < 4 ? std::size_t{8} : count * 2);
      std::vector<Entry> old(capacity);
      old.swap(entries);
      mask = capacity - 1;
      for (const Entry& entry : old) {
        if (entry.key != empty) insert(entry);
      }
    }
    void erase(std::int32_t key) {
      std::size_t hole = find(key);
      for (std::size_t at = (hole + 1) & mask; entries[at].key != empty; at = (at + 1) & mask) {
        // An entry may move back into the hole unless its home lies behind the hole.
        const std::size_t probed = (at - home(entries[at].key)) & mask;
        if (probed >= ((at - hole) & mask)) {
          entries[hole] = entries[at];
          hole = at;
        }
      }
      entries[hole].key = empty;
      --used;
    }
  };

  Row& row(std::int64_t seq) { return rows_[static_cast<std::size_t>(seq)]; }

  std::vector<Row> rows_;
};

static_assert(BlockTable<OpenHashTable>);

}  // namespace blockmark
