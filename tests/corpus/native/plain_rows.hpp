// A right table of plain rows that is not paged, so that every block goes through append().
#pragma once

#include <cstdint>
#include <vector>

#include "blockmark.hpp"

namespace corpus {

class PlainRows {
 public:
  using id_type = std::int32_t;
  static constexpr const char* name = "plain-rows";

  explicit PlainRows(const blockmark::Sizes& sizes)
      : rows_(static_cast<std::size_t>(sizes.max_seqs),
              std::vector<id_type>(static_cast<std::size_t>(sizes.max_blocks_per_seq), 0)) {}

  id_type get(std::int64_t seq, std::int64_t logical) const {
    return rows_[static_cast<std::size_t>(seq)][static_cast<std::size_t>(logical)];
  }
  void begin(std::int64_t, std::int64_t, std::int64_t) {}
  void append(std::int64_t seq, std::int64_t logical, id_type id) { at(seq, logical) = id; }
  void replace(std::int64_t seq, std::int64_t logical, id_type id) { at(seq, logical) = id; }
  void remove(std::int64_t, std::int64_t) {}
  void end(std::int64_t) {}
  std::int64_t bytes() const {
    return static_cast<std::int64_t>(rows_.size() * rows_[0].size() * sizeof(id_type));
  }

 protected:
  using Rows = std::vector<std::vector<id_type>>;

  id_type& at(std::int64_t seq, std::int64_t logical) {
    return rows_[static_cast<std::size_t>(seq)][static_cast<std::size_t>(logical)];
  }

  Rows rows_;
};

}  // namespace corpus
