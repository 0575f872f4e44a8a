// One growing std::vector a sequence, its storage released with the sequence.
#pragma once

#include <cstdint>
#include <vector>

#include "../contract.hpp"

namespace blockmark {

class VectorTable {
 public:
  using id_type = std::int32_t;
  static constexpr const char* name = "vector";

  explicit VectorTable(const Sizes& sizes) : rows_(static_cast<std::size_t>(sizes.max_seqs)) {}

  struct Open {
    const std::vector<id_type>* rows;

    id_type get(std::int64_t seq, std::int64_t logical) const {
      return rows[seq][static_cast<std::size_t>(logical)];
    }
  };
  Open open() const { return {rows_.data()}; }

  id_type get(std::int64_t seq, std::int64_t logical) const { return open().get(seq, logical); }
  void begin(std::int64_t seq, std::int64_t first, std::int64_t count) {
    row(seq).reserve(static_cast<std::size_t>(count));
    row(seq).resize(static_cast<std::size_t>(first));
  }
  void append(std::int64_t seq, std::int64_t, id_type id) { row(seq).push_back(id); }
  void replace(std::int64_t seq, std::int64_t logical, id_type id) {
    row(seq)[static_cast<std::size_t>(logical)] = id;
  }
  // A dropped first block keeps its place, since logical indices stay.
  void remove(std::int64_t seq, std::int64_t logical) {
    if (static_cast<std::size_t>(logical) + 1 == row(seq).size()) row(seq).pop_back();
  }
  void end(std::int64_t seq) { Row().swap(row(seq)); }

  static constexpr std::int64_t adjacent(std::int64_t) { return whole_row; }
  const id_type* at(std::int64_t seq, std::int64_t logical) const {
    return rows_[static_cast<std::size_t>(seq)].data() + logical;
  }
  id_type* place(std::int64_t seq, std::int64_t logical, std::int64_t count) {
    row(seq).resize(static_cast<std::size_t>(logical + count));
    return row(seq).data() + logical;
  }

  std::int64_t bytes() const {
    std::int64_t sum = static_cast<std::int64_t>(rows_.capacity() * sizeof(Row));
    for (const Row& row : rows_) {
      sum += malloc_chunk(static_cast<std::int64_t>(row.capacity() * sizeof(id_type)));
    }
    return sum;
  }

 private:
  using Row = std::vector<id_type>;

  Row& row(std::int64_t seq) { return rows_[static_cast<std::size_t>(seq)]; }

  std::vector<Row> rows_;
};

static_assert(PagedTable<VectorTable>);

}  // namespace blockmark
