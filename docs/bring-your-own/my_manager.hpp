// A block manager to start from: every table a std::vector, the free blocks another one.
//
// The concept WholeManager in whole_manager.hpp says what it must have, and in which order
// errors are looked for. It is derived from nothing.
#pragma once

#include <blockmark.hpp>

#include <cstdint>
#include <vector>

namespace mine {

class MyManager {
 public:
  using id_type = std::uint32_t;
  static constexpr const char* name = "my-manager";
  static constexpr const char* reuse_order = "LIFO";

  explicit MyManager(const blockmark::Sizes& sizes)
      : sizes_(sizes),
        tables_(static_cast<std::size_t>(sizes.max_seqs)),
        refs_(static_cast<std::size_t>(sizes.total_blocks), 0) {
    for (std::int64_t id = sizes.total_blocks; id-- > 0;) free_.push_back(id_type(id));
  }

  const blockmark::Sizes& sizes() const { return sizes_; }
  bool can_allocate(std::int64_t num_blocks) const { return num_blocks <= num_free(); }

  void allocate(std::int64_t seq, std::int64_t num_tokens) {
    Table& table = unused(seq);
    if (num_tokens < 1) blockmark::throw_bad_tokens(num_tokens);
    const std::int64_t fresh = fresh_for(seq, table, num_tokens);
    need(fresh);
    grow(table, num_tokens, fresh);
  }

  // `on_copy(src, dst)` is told which block's contents must move where.
  template <class OnCopy>
  void append(std::int64_t seq, const OnCopy& on_copy) {
    extend(seq, 1, on_copy);
  }

  template <class OnCopy>
  void extend(std::int64_t seq, std::int64_t num_tokens, const OnCopy& on_copy) {
    Table& table = live(seq);
    if (num_tokens < 0) blockmark::throw_bad_tokens(num_tokens);
    if (num_tokens == 0) return;
    const std::int64_t fresh = fresh_for(seq, table, num_tokens);
    const id_type last = table.blocks.back();
    // Partly filled and shared, and about to be written.
    if (room(table) > 0 && refs_[last] > 1) {
      need(fresh + 1);
      const id_type own = take();
      --refs_[last];
      table.blocks.back() = own;
      on_copy(last, own);
    } else {
      need(fresh);
    }
    grow(table, num_tokens, fresh);
  }

  // Blocks go back from the last one forward.
  void truncate(std::int64_t seq, std::int64_t num_tokens) {
    Table& table = live(seq);
    if (num_tokens < 1 || num_tokens > table.tokens) {
      blockmark::throw_bad_truncate(seq, num_tokens);
    }
    const std::int64_t keep = blocks_for(num_tokens);
    if (keep <= table.first) blockmark::throw_bad_truncate(seq, num_tokens);
    for (; end(table) > keep; table.blocks.pop_back()) give(table.blocks.back());
    table.tokens = num_tokens;
  }

  // Logical numbers stay, so what is dropped keeps its place.
  void drop_front(std::int64_t seq, std::int64_t num_blocks) {
    Table& table = live(seq);
    if (num_blocks < 0 || num_blocks >= end(table)) blockmark::throw_bad_drop(seq, num_blocks);
    for (; table.first < num_blocks; ++table.first) give(table.blocks[table.first]);
  }

  void fork(std::int64_t parent, std::int64_t child) {
    const Table& from = live(parent);
    share(from, unused(child), end(from), from.tokens);
  }

  void fork(std::int64_t parent, std::int64_t child, std::int64_t num_blocks) {
    const Table& from = live(parent);
    Table& to = unused(child);
    if (num_blocks < 1 || num_blocks > from.tokens / sizes_.block_size ||
        num_blocks <= from.first) {
      blockmark::throw_bad_prefix(parent, num_blocks);
    }
    share(from, to, num_blocks, num_blocks * sizes_.block_size);
  }

  void free(std::int64_t seq) {
    Table& table = live(seq);
    for (; table.first < end(table); ++table.first) give(table.blocks[table.first]);
    table = Table{};
  }

  id_type lookup(std::int64_t seq, std::int64_t logical) const {
    const Table& table = live(seq);
    if (logical < table.first || logical >= end(table)) {
      blockmark::throw_not_in_table(seq, logical);
    }
    return table.blocks[logical];
  }

  std::int32_t ref_count(std::int64_t block) const {
    if (block < 0 || block >= sizes_.total_blocks) blockmark::throw_value("there is no such block");
    return refs_[block];
  }

  std::int64_t num_free() const { return static_cast<std::int64_t>(free_.size()); }
  std::int64_t num_tokens(std::int64_t seq) const { return live(seq).tokens; }
  blockmark::Sequence sequence(std::int64_t seq) const {
    const Table& table = live(seq);
    return {std::int32_t(table.first), std::int32_t(end(table)), std::int32_t(room(table))};
  }

  // Dropped blocks and the tail of each row are zero.
  void write_block_tables(const std::int32_t* seqs, std::int64_t count, std::int32_t* out,
                          std::int64_t width, std::int32_t* lengths) const {
    for (std::int64_t row = 0; row < count; ++row, out += width) {
      const Table& table = live(seqs[row]);
      if (end(table) > width) blockmark::throw_row_too_wide(seqs[row], end(table), width);
      for (std::int64_t i = 0; i < width; ++i) {
        const bool kept = i >= table.first && i < end(table);
        out[i] = kept ? std::int32_t(table.blocks[i]) : 0;
      }
      lengths[row] = std::int32_t(end(table));
    }
  }

  std::int64_t table_bytes() const {
    std::size_t bytes = tables_.capacity() * sizeof(Table);
    for (const Table& table : tables_) bytes += table.blocks.capacity() * sizeof(id_type);
    return static_cast<std::int64_t>(bytes);
  }
  std::int64_t pool_bytes() const {
    return static_cast<std::int64_t>(free_.capacity() * sizeof(id_type) +
                                     refs_.capacity() * sizeof(std::int32_t));
  }

 private:
  struct Table {
    std::vector<id_type> blocks;  // by logical number
    std::int64_t first = 0;       // that was not dropped
    std::int64_t tokens = 0;      // 0: there is no such sequence
  };

  static std::int64_t end(const Table& table) {
    return static_cast<std::int64_t>(table.blocks.size());
  }
  std::int64_t room(const Table& table) const {
    return end(table) * sizes_.block_size - table.tokens;
  }

  bool is_slot(std::int64_t seq) const { return seq >= 0 && seq < sizes_.max_seqs; }
  const Table& live(std::int64_t seq) const {
    if (!is_slot(seq) || tables_[seq].tokens == 0) blockmark::throw_unknown_sequence(seq);
    return tables_[seq];
  }
  Table& live(std::int64_t seq) {
    if (!is_slot(seq) || tables_[seq].tokens == 0) blockmark::throw_unknown_sequence(seq);
    return tables_[seq];
  }
  Table& unused(std::int64_t seq) {
    if (!is_slot(seq)) blockmark::throw_no_such_slot(seq, sizes_.max_seqs);
    if (tables_[seq].tokens != 0) blockmark::throw_sequence_exists(seq);
    return tables_[seq];
  }

  std::int64_t blocks_for(std::int64_t num_tokens) const {
    return (num_tokens - 1) / sizes_.block_size + 1;
  }
  // How many blocks `num_tokens` more need.
  std::int64_t fresh_for(std::int64_t seq, const Table& table, std::int64_t num_tokens) const {
    const std::int64_t longest = sizes_.max_blocks_per_seq * sizes_.block_size;
    if (num_tokens > longest - table.tokens) {
      blockmark::throw_too_long(seq, sizes_.max_blocks_per_seq);
    }
    return blocks_for(table.tokens + num_tokens) - end(table);
  }
  void need(std::int64_t blocks) const {
    if (blocks > num_free()) blockmark::throw_out_of_blocks(blocks, num_free());
  }
  void grow(Table& table, std::int64_t num_tokens, std::int64_t fresh) {
    for (std::int64_t i = 0; i < fresh; ++i) table.blocks.push_back(take());
    table.tokens += num_tokens;
  }
  void share(const Table& from, Table& to, std::int64_t num_blocks, std::int64_t num_tokens) {
    to.blocks.assign(from.blocks.begin(), from.blocks.begin() + num_blocks);
    to.first = from.first;
    to.tokens = num_tokens;
    for (std::int64_t i = to.first; i < num_blocks; ++i) ++refs_[to.blocks[i]];
  }
  id_type take() {
    const id_type id = free_.back();
    free_.pop_back();
    refs_[id] = 1;
    return id;
  }
  void give(id_type id) {
    if (--refs_[id] == 0) free_.push_back(id);
  }

  blockmark::Sizes sizes_;
  std::vector<Table> tables_;
  std::vector<std::int32_t> refs_;
  std::vector<id_type> free_;
};

// Offers the class to `blockmark build`; anywhere else a check of the concept.
BLOCKMARK_MANAGER(MyManager);

}  // namespace mine
