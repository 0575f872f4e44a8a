// A block table to start from: all rows in one std::vector.
#pragma once

#include <blockmark.hpp>

#include <cstdint>
#include <vector>

namespace mine {

class MyTable {
 public:
  using id_type = std::uint32_t;
  static constexpr const char* name = "my-table";

  explicit MyTable(const blockmark::Sizes& sizes)
      : width_(sizes.max_blocks_per_seq),
        ids_(static_cast<std::size_t>(sizes.max_seqs * sizes.max_blocks_per_seq)) {}

  // The manager has checked every index.
  id_type get(std::int64_t seq, std::int64_t logical) const { return ids_[at(seq, logical)]; }

  // `seq` starts; its blocks will be [first, count).
  void begin(std::int64_t, std::int64_t, std::int64_t) {}
  void append(std::int64_t seq, std::int64_t logical, id_type id) { ids_[at(seq, logical)] = id; }
  void replace(std::int64_t seq, std::int64_t logical, id_type id) { ids_[at(seq, logical)] = id; }
  void remove(std::int64_t, std::int64_t) {}
  void end(std::int64_t) {}

  std::int64_t bytes() const {
    return static_cast<std::int64_t>(ids_.capacity() * sizeof(id_type));
  }

 private:
  std::size_t at(std::int64_t seq, std::int64_t logical) const {
    return static_cast<std::size_t>(seq * width_ + logical);
  }

  std::int64_t width_;
  std::vector<id_type> ids_;
};

// Offers the class to `blockmark build`; anywhere else a check of the concept.
BLOCKMARK_TABLE(MyTable);

}  // namespace mine
