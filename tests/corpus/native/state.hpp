// State that outlives or leaves its object, pages, and a hash table that fills up.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "blockmark.hpp"
#include "plain_rows.hpp"

namespace corpus {

// The stack itself is static, and only the top is each pool's own.
// fault: state shared
class StaticStackPool {
 public:
  using id_type = std::int32_t;
  static constexpr const char* name = "static-stack";
  static constexpr const char* reuse_order = "LIFO";

  explicit StaticStackPool(std::int64_t total_blocks) : top_(total_blocks) {
    if (static_cast<std::int64_t>(ids().size()) < total_blocks) {
      ids().resize(static_cast<std::size_t>(total_blocks));
    }
    for (std::int64_t i = 0; i < top_; ++i) place(i) = static_cast<id_type>(top_ - 1 - i);
  }
  std::int64_t num_free() const { return top_; }
  id_type take() { return place(--top_); }
  void give(id_type id) { place(top_++) = id; }
  std::int64_t bytes() const { return 8; }

 private:
  static std::vector<id_type>& ids() {
    static std::vector<id_type> all;
    return all;
  }
  static id_type& place(std::int64_t i) { return ids()[static_cast<std::size_t>(i)]; }

  std::int64_t top_;
};

// The row of sequence 0 is static: all tables have the same.
// fault: state shared
class StaticRowTable : public PlainRows {
 public:
  explicit StaticRowTable(const blockmark::Sizes& sizes) : PlainRows(sizes) {
    if (first().size() < rows_[0].size()) first().resize(rows_[0].size());
  }
  id_type get(std::int64_t seq, std::int64_t logical) const {
    return seq == 0 ? first()[static_cast<std::size_t>(logical)] : PlainRows::get(seq, logical);
  }
  void append(std::int64_t seq, std::int64_t logical, id_type id) { place(seq, logical) = id; }
  void replace(std::int64_t seq, std::int64_t logical, id_type id) { place(seq, logical) = id; }

 private:
  static std::vector<id_type>& first() {
    static std::vector<id_type> row;
    return row;
  }
  id_type& place(std::int64_t seq, std::int64_t logical) {
    return seq == 0 ? first()[static_cast<std::size_t>(logical)] : at(seq, logical);
  }
};

// A removed entry leaves a tombstone; when no place is empty, a block finds none any more.
// fault: tombstones
class TombstoneTable {
 public:
  using id_type = std::int32_t;
  static constexpr const char* name = "tombstones";

  explicit TombstoneTable(const blockmark::Sizes& sizes)
      : rows_(static_cast<std::size_t>(sizes.max_seqs),
              Row(static_cast<std::size_t>(2 * sizes.max_blocks_per_seq + 2))) {}

  id_type get(std::int64_t seq, std::int64_t logical) const {
    const Row& r = rows_[static_cast<std::size_t>(seq)];
    for (std::size_t i = 0; i < r.size(); ++i) {
      const Entry& entry = r[(static_cast<std::size_t>(logical) + i) % r.size()];
      if (entry.key == logical) return entry.id;
      if (entry.key == empty) break;
    }
    return 0;
  }
  void begin(std::int64_t, std::int64_t, std::int64_t) {}
  void append(std::int64_t seq, std::int64_t logical, id_type id) {
    if (Entry* place = find(seq, logical, empty)) *place = {logical, id};
  }
  void replace(std::int64_t seq, std::int64_t logical, id_type id) {
    if (Entry* place = find(seq, logical, logical)) place->id = id;
  }
  void remove(std::int64_t seq, std::int64_t logical) {
    if (Entry* place = find(seq, logical, logical)) place->key = tombstone;
  }
  void end(std::int64_t seq) {
    for (Entry& entry : rows_[static_cast<std::size_t>(seq)]) entry.key = empty;
  }
  std::int64_t bytes() const {
    return static_cast<std::int64_t>(rows_.size() * rows_[0].size() * sizeof(Entry));
  }

 private:
  static constexpr std::int64_t empty = -1, tombstone = -2;
  struct Entry {
    std::int64_t key = empty;
    id_type id = 0;
  };
  using Row = std::vector<Entry>;

  Entry* find(std::int64_t seq, std::int64_t logical, std::int64_t key) {
    Row& r = rows_[static_cast<std::size_t>(seq)];
    for (std::size_t i = 0; i < r.size(); ++i) {
      Entry& entry = r[(static_cast<std::size_t>(logical) + i) % r.size()];
      if (entry.key == key) return &entry;
    }
    return nullptr;
  }

  std::vector<Row> rows_;
};

// Pages of 8 ids from one stack. `Self` says with which slot a page goes back: the `last` block
// of a sequence is removed by a truncation, the first one by a dropped front.
template <class Self>
class PagesTable {
 public:
  using id_type = std::int32_t;
  static constexpr const char* name = "pages";

  explicit PagesTable(const blockmark::Sizes& sizes)
      : row_pages_(sizes.max_blocks_per_seq / 8 + 1),
        pages_(static_cast<std::size_t>(sizes.max_seqs * row_pages_)),
        directory_(pages_.size(), none),
        ends_(static_cast<std::size_t>(sizes.max_seqs), 0) {
    for (std::size_t page = pages_.size(); page-- > 0;) free_.push_back(page);
  }

  id_type get(std::int64_t seq, std::int64_t logical) const {
    const std::size_t page = directory_[at(seq, logical)];
    return page == none ? 0 : pages_[page][static_cast<std::size_t>(logical % 8)];
  }
  void begin(std::int64_t, std::int64_t, std::int64_t) {}
  void append(std::int64_t seq, std::int64_t logical, id_type id) {
    std::size_t& page = directory_[at(seq, logical)];
    if (page == none) {
      page = free_.back();
      free_.pop_back();
    }
    pages_[page][static_cast<std::size_t>(logical % 8)] = id;
    ends_[static_cast<std::size_t>(seq)] = logical + 1;
  }
  void replace(std::int64_t seq, std::int64_t logical, id_type id) {
    pages_[directory_[at(seq, logical)]][static_cast<std::size_t>(logical % 8)] = id;
  }
  void remove(std::int64_t seq, std::int64_t logical) {
    std::int64_t& end = ends_[static_cast<std::size_t>(seq)];
    const bool last = logical + 1 == end;
    if (last) --end;
    if (Self::goes_back(logical % 8, last)) give(directory_[at(seq, logical)]);
  }
  void end(std::int64_t seq) {
    for (std::int64_t page = 0; page < row_pages_; ++page) give(directory_[at(seq, page * 8)]);
  }
  std::int64_t bytes() const { return static_cast<std::int64_t>(pages_.size() * 40); }

 private:
  static constexpr std::size_t none = ~std::size_t{0};

  std::size_t at(std::int64_t seq, std::int64_t logical) const {
    return static_cast<std::size_t>(seq * row_pages_ + logical / 8);
  }
  void give(std::size_t& page) {
    if (page != none) free_.push_back(page);
    page = none;
  }

  std::int64_t row_pages_;
  std::vector<std::array<id_type, 8>> pages_;
  std::vector<std::size_t> directory_;
  std::vector<std::int64_t> ends_;
  std::vector<std::size_t> free_;
};

// A truncation gives a page back with its second block, and the first one is still there.
// fault: pages
class EarlyPageTable : public PagesTable<EarlyPageTable> {
 public:
  using PagesTable<EarlyPageTable>::PagesTable;
  static bool goes_back(std::int64_t slot, bool last) { return slot == (last ? 1 : 7); }
};

// A dropped front gives a page back with its last block but one.
// fault: pages
class EarlyFrontPageTable : public PagesTable<EarlyFrontPageTable> {
 public:
  using PagesTable<EarlyFrontPageTable>::PagesTable;
  static bool goes_back(std::int64_t slot, bool last) { return slot == (last ? 0 : 6); }
};

// A table of rows of which the end of a sequence clears the one behind it, too.
// fault: use after free
class ClearsNextRowTable : public PlainRows {
 public:
  using PlainRows::PlainRows;
  void end(std::int64_t seq) {
    for (std::size_t i = 0; i < 2 && static_cast<std::size_t>(seq) + i < rows_.size(); ++i) {
      for (id_type& id : rows_[static_cast<std::size_t>(seq) + i]) id = 0;
    }
  }
};

BLOCKMARK_POOL(StaticStackPool);
BLOCKMARK_TABLE(StaticRowTable);
BLOCKMARK_TABLE(TombstoneTable);
BLOCKMARK_TABLE(EarlyPageTable);
BLOCKMARK_TABLE(EarlyFrontPageTable);
BLOCKMARK_TABLE(ClearsNextRowTable);

}  // namespace corpus
