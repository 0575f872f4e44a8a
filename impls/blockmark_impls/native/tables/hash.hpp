// One std::unordered_map a sequence, as an early prototype has it: a node from the
// heap for every block, freed one by one with the sequence.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "../contract.hpp"

namespace blockmark {

class HashTable {
 public:
  using id_type = std::int32_t;
  static constexpr const char* name = "hash";

  explicit HashTable(const Sizes& sizes) : rows_(static_cast<std::size_t>(sizes.max_seqs)) {}

  id_type get(std::int64_t seq, std::int64_t logical) const {
    return rows_[static_cast<std::size_t>(seq)].find(static_cast<int>(logical))->second;
  }
  // Nothing is reserved: a dictionary grows as it is filled.
  void begin(std::int64_t, std::int64_t, std::int64_t) {}
  void append(std::int64_t seq, std::int64_t logical, id_type id) {
    row(seq).emplace(static_cast<int>(logical), id);
  }
  void replace(std::int64_t seq, std::int64_t logical, id_type id) {
    row(seq).find(static_cast<int>(logical))->second = id;
  }
  void remove(std::int64_t seq, std::int64_t logical) {
    row(seq).erase(static_cast<int>(logical));
  }
  void end(std::int64_t seq) { Row().swap(row(seq)); }

  std::int64_t bytes() const {
    std::int64_t sum = static_cast<std::int64_t>(rows_.capacity() * sizeof(Row));
    for (const Row& row : rows_) {
      sum += static_cast<std::int64_t>(row.size()) * malloc_chunk(16);
      // A map of one bucket keeps it inside itself.
      if (row.bucket_count() > 1) {
        sum += malloc_chunk(static_cast<std::int64_t>(row.bucket_count()) * 8);
      }
    }
    return sum;
  }

 private:
  using Row = std::unordered_map<int, int>;

  Row& row(std::int64_t seq) { return rows_[static_cast<std::size_t>(seq)]; }

  std::vector<Row> rows_;
};

static_assert(BlockTable<HashTable>);

}  // namespace blockmark
