// A whole manager written from scratch: what the concept WholeManager asks for, and no more.
//
// `Self` is the class that derives from it. What `Self` defines again of the steps below
// (blocks_for, room_of, shared, release, write_row) is called in place of what is here.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "blockmark.hpp"

namespace corpus {

template <class Self, class Count = std::int32_t>
class PlainManager {
 public:
  using id_type = std::int32_t;
  static constexpr const char* name = "plain";
  static constexpr const char* reuse_order = "LIFO";

  explicit PlainManager(const blockmark::Sizes& sizes)
      : sizes_(sizes.checked(blockmark::id_limit<id_type>(), blockmark::id_name<id_type>())),
        rows_(static_cast<std::size_t>(sizes.max_seqs)),
        refs_(static_cast<std::size_t>(sizes.total_blocks), 0) {
    for (std::int64_t id = sizes.total_blocks; id-- > 0;) free_.push_back(static_cast<id_type>(id));
  }

  const blockmark::Sizes& sizes() const { return sizes_; }
  bool can_allocate(std::int64_t blocks) const { return blocks <= num_free(); }

  void allocate(std::int64_t seq, std::int64_t tokens) {
    Row& row = unused(seq);
    if (tokens < 1) blockmark::throw_bad_tokens(tokens);
    const std::int64_t blocks = self().blocks_for(tokens);
    if (blocks > sizes_.max_blocks_per_seq) too_long(seq);
    need(blocks);
    grow(row, blocks);
    row.room = self().room_of(blocks, tokens);
  }

  template <class OnCopy>
  void append(std::int64_t seq, OnCopy&& on_copy) {
    extend(seq, 1, on_copy);
  }

  template <class OnCopy>
  void extend(std::int64_t seq, std::int64_t tokens, OnCopy&& on_copy) {
    Row& row = live(seq);
    if (tokens < 0) blockmark::throw_bad_tokens(tokens);
    if (tokens == 0) return;
    const std::int64_t beyond = tokens - row.room;
    const std::int64_t fresh = beyond > 0 ? self().blocks_for(beyond) : 0;
    if (row.end() + fresh > sizes_.max_blocks_per_seq) too_long(seq);
    const bool copy = row.room > 0 && self().shared(row.blocks.back());
    need(fresh + copy);
    if (copy) {
      const id_type src = row.blocks.back();
      row.blocks.back() = take();
      self().release(src);
      on_copy(static_cast<std::int64_t>(src), static_cast<std::int64_t>(row.blocks.back()));
    }
    grow(row, fresh);
    row.room = fresh > 0 ? self().room_of(fresh, beyond) : row.room - tokens;
  }

  void truncate(std::int64_t seq, std::int64_t tokens) {
    Row& row = live(seq);
    const std::int64_t blocks = tokens < 1 ? 0 : self().blocks_for(tokens);
    if (tokens < 1 || tokens > num_tokens(seq) || blocks <= row.first) {
      blockmark::throw_bad_truncate(seq, tokens);
    }
    while (row.end() > blocks) {
      const id_type id = row.blocks.back();
      row.blocks.pop_back();
      self().release(id);
    }
    row.room = self().room_of(blocks, tokens);
  }

  void drop_front(std::int64_t seq, std::int64_t blocks) {
    Row& row = live(seq);
    if (blocks < 0 || blocks >= row.end()) blockmark::throw_bad_drop(seq, blocks);
    for (; row.first < blocks; ++row.first) self().release(row.at(row.first));
  }

  void fork(std::int64_t parent, std::int64_t child) {
    const Row from = live(parent);
    share(from, unused(child), from.end(), from.room);
  }
  void fork(std::int64_t parent, std::int64_t child, std::int64_t blocks) {
    const Row from = live(parent);
    Row& to = unused(child);
    const std::int64_t full = from.end() - (from.room > 0 ? 1 : 0);
    if (blocks < 1 || blocks > full || blocks <= from.first) {
      blockmark::throw_bad_prefix(parent, blocks);
    }
    share(from, to, blocks, 0);
  }

  void free(std::int64_t seq) {
    Row& row = live(seq);
    for (std::int64_t i = row.first; i < row.end(); ++i) self().release(row.at(i));
    row = Row{};
  }

  id_type lookup(std::int64_t seq, std::int64_t logical) const {
    const Row& row = live(seq);
    if (logical < row.first || logical >= row.end()) blockmark::throw_not_in_table(seq, logical);
    return row.at(logical);
  }
  std::int32_t ref_count(std::int64_t block) const {
    if (block < 0 || block >= sizes_.total_blocks) {
      blockmark::throw_value("there is no block " + std::to_string(block));
    }
    return static_cast<std::int32_t>(refs_[static_cast<std::size_t>(block)]);
  }
  std::int64_t num_free() const { return static_cast<std::int64_t>(free_.size()); }
  std::int64_t num_tokens(std::int64_t seq) const {
    const Row& row = live(seq);
    return row.end() * sizes_.block_size - row.room;
  }
  blockmark::Sequence sequence(std::int64_t seq) const {
    const Row& row = live(seq);
    return {static_cast<std::int32_t>(row.first), static_cast<std::int32_t>(row.end()),
            static_cast<std::int32_t>(row.room)};
  }

  void write_block_tables(const std::int32_t* seqs, std::int64_t count, std::int32_t* out,
                          std::int64_t width, std::int32_t* lengths) const {
    for (std::int64_t i = 0; i < count; ++i) {
      const Row& row = live(seqs[i]);
      if (row.end() > width) blockmark::throw_row_too_wide(seqs[i], row.end(), width);
      self().write_row(seqs[i], row, out + i * width, width);
      lengths[i] = static_cast<std::int32_t>(row.end());
    }
  }

  std::int64_t table_bytes() const {
    std::size_t ids = 0;
    for (const Row& row : rows_) ids += row.blocks.capacity();
    return static_cast<std::int64_t>(rows_.size() * sizeof(Row) + ids * sizeof(id_type));
  }
  std::int64_t pool_bytes() const {
    return static_cast<std::int64_t>(free_.capacity() * sizeof(id_type) +
                                     refs_.size() * sizeof(Count));
  }

 protected:
  // A sequence that exists has a block. Dropped blocks keep their places.
  struct Row {
    std::vector<id_type> blocks;
    std::int64_t first = 0;
    std::int64_t room = 0;

    std::int64_t end() const { return static_cast<std::int64_t>(blocks.size()); }
    id_type at(std::int64_t logical) const { return blocks[static_cast<std::size_t>(logical)]; }
  };

  std::int64_t blocks_for(std::int64_t tokens) const {
    return (tokens - 1) / sizes_.block_size + 1;
  }
  std::int64_t room_of(std::int64_t blocks, std::int64_t tokens) const {
    return blocks * sizes_.block_size - tokens;
  }
  bool shared(id_type id) const { return refs_[static_cast<std::size_t>(id)] > 1; }
  void release(id_type id) {
    if (--refs_[static_cast<std::size_t>(id)] == 0) free_.push_back(id);
  }
  void write_row(std::int64_t, const Row& row, std::int32_t* out, std::int64_t width) const {
    for (std::int64_t i = 0; i < width; ++i) {
      out[i] = i < row.first || i >= row.end() ? 0 : row.at(i);
    }
  }

  bool is_slot(std::int64_t seq) const { return seq >= 0 && seq < sizes_.max_seqs; }
  const Row& row(std::int64_t seq) const { return rows_[static_cast<std::size_t>(seq)]; }
  const Row& live(std::int64_t seq) const {
    if (!is_slot(seq) || row(seq).blocks.empty()) blockmark::throw_unknown_sequence(seq);
    return row(seq);
  }
  Row& live(std::int64_t seq) {
    return const_cast<Row&>(static_cast<const PlainManager*>(this)->live(seq));
  }

  blockmark::Sizes sizes_;
  std::vector<Row> rows_;
  std::vector<id_type> free_;
  std::vector<Count> refs_;

 private:
  Self& self() { return static_cast<Self&>(*this); }
  const Self& self() const { return static_cast<const Self&>(*this); }

  [[noreturn]] void too_long(std::int64_t seq) const {
    blockmark::throw_too_long(seq, sizes_.max_blocks_per_seq);
  }
  void need(std::int64_t blocks) const {
    if (blocks > num_free()) blockmark::throw_out_of_blocks(blocks, num_free());
  }
  Row& unused(std::int64_t seq) {
    if (!is_slot(seq)) blockmark::throw_no_such_slot(seq, sizes_.max_seqs);
    if (!row(seq).blocks.empty()) blockmark::throw_sequence_exists(seq);
    return rows_[static_cast<std::size_t>(seq)];
  }
  id_type take() {
    const id_type id = free_.back();
    free_.pop_back();
    refs_[static_cast<std::size_t>(id)] = 1;
    return id;
  }
  void grow(Row& row, std::int64_t blocks) {
    for (std::int64_t i = 0; i < blocks; ++i) row.blocks.push_back(take());
  }
  void share(const Row& from, Row& to, std::int64_t blocks, std::int64_t room) {
    to.blocks.assign(from.blocks.begin(), from.blocks.begin() + blocks);
    to.first = from.first;
    to.room = room;
    for (std::int64_t i = to.first; i < blocks; ++i) ++refs_[static_cast<std::size_t>(to.at(i))];
  }
};

}  // namespace corpus
