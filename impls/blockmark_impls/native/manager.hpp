// The block manager, composed of a table, a pool and ref counts. Everything else that
// a manager needs is here and is the same for all of them, so that two managers differ
// in their structures alone.
//
// Checks come before changes: after each error the state is as it was. Where several
// errors apply, the sequence is looked at first, then the argument's value, then the
// table's length, then the pool. A table that throws in mid-operation, such as std::bad_alloc,
// must be as before that call; what the operation took goes back to the pool.
#pragma once

#include <algorithm>
#include <cstdint>

#include "aligned_array.hpp"
#include "contract.hpp"
#include "op.hpp"
#include "widen.hpp"

namespace blockmark {

// When the last, partly filled block is copied before it is written: where another table
// names it too. Whoever does keeps it, so it never goes back to the pool here.
struct CopyIfShared {
  static constexpr bool others_keep_it = true;

  template <RefCounting Refs>
  static bool needed(const Refs& refs, std::int64_t id) {
    return refs.get(id) > 1;
  }
};

template <BlockTable Table, FreePool Pool, RefCounting Refs, class CopyRule = CopyIfShared>
class Manager {
 public:
  using id_type = typename Table::id_type;
  using table_type = Table;
  using pool_type = Pool;
  using refs_type = Refs;

  static constexpr OpSet served = manager_ops;

  // Throws Error(value) for sizes that make no sense, std::bad_alloc.
  explicit Manager(const Sizes& sizes)
      : sizes_(sizes.checked(id_limit<id_type>(), id_name<id_type>())),
        sequences_(sizes.max_seqs, Sequence{}),
        table_(sizes),
        pool_(sizes.total_blocks),
        refs_(sizes.total_blocks) {}

  const Sizes& sizes() const { return sizes_; }
  const Table& table() const { return table_; }
  const Pool& pool() const { return pool_; }

  bool can_allocate(std::int64_t num_blocks) const { return num_blocks <= pool_.num_free(); }

  void allocate(std::int64_t seq, std::int64_t num_tokens) {
    Sequence& s = unused(seq);
    if (num_tokens < 1) throw_bad_tokens(num_tokens);
    const std::int64_t blocks = (num_tokens - 1) / sizes_.block_size + 1;
    if (blocks > sizes_.max_blocks_per_seq) throw_too_long(seq, sizes_.max_blocks_per_seq);
    need(blocks);
    try {
      table_.begin(seq, 0, blocks);
      fill(seq, 0, blocks);
    } catch (...) {
      table_.end(seq);
      throw;
    }
    s.end = static_cast<std::int32_t>(blocks);
    s.room = static_cast<std::int32_t>(blocks * sizes_.block_size - num_tokens);
  }

  // `on_copy(src, dst)` is told of a copy-on-write, so that nothing is built to return.
  template <class OnCopy>
  void append(std::int64_t seq, OnCopy&& on_copy) {
    Sequence& s = live(seq);
    if (s.room > 0) {
      own_last_block(seq, s, on_copy);
      --s.room;
      return;
    }
    if (s.end >= sizes_.max_blocks_per_seq) [[unlikely]] {
      throw_too_long(seq, sizes_.max_blocks_per_seq);
    }
    need(1);
    fill_one(pool_, seq, s.end);
    ++s.end;
    s.room = static_cast<std::int32_t>(sizes_.block_size - 1);
  }

  template <class OnCopy>
  void extend(std::int64_t seq, std::int64_t num_tokens, OnCopy&& on_copy) {
    Sequence& s = live(seq);
    if (num_tokens <= s.room) {
      if (num_tokens < 0) throw_bad_tokens(num_tokens);
      if (num_tokens == 0) return;
      own_last_block(seq, s, on_copy);
      s.room -= static_cast<std::int32_t>(num_tokens);
      return;
    }
    const std::int64_t beyond = num_tokens - s.room;
    // No division where one block will do.
    const std::int64_t fresh =
        beyond <= sizes_.block_size ? 1 : (beyond - 1) / sizes_.block_size + 1;
    if (fresh > sizes_.max_blocks_per_seq - s.end) {
      throw_too_long(seq, sizes_.max_blocks_per_seq);
    }
    if (s.room > 0 && CopyRule::needed(refs_, table_.get(seq, s.end - 1))) [[unlikely]] {
      need(fresh + 1);
      own_last_block(seq, s, on_copy);
    } else {
      need(fresh);
    }
    fill(seq, s.end, s.end + fresh);
    s.end += static_cast<std::int32_t>(fresh);
    s.room = static_cast<std::int32_t>(fresh * sizes_.block_size - beyond);
  }

  void truncate(std::int64_t seq, std::int64_t num_tokens) {
    Sequence& s = live(seq);
    if (num_tokens < 1 || num_tokens > tokens(s)) throw_bad_truncate(seq, num_tokens);
    const std::int64_t blocks = (num_tokens - 1) / sizes_.block_size + 1;
    if (blocks <= s.first) throw_bad_truncate(seq, num_tokens);
    {
      auto&& pool = open_pool(pool_);
      for (std::int64_t logical = s.end; logical-- > blocks;) {
        const id_type id = table_.get(seq, logical);
        table_.remove(seq, logical);
        release(pool, id);
      }
    }
    s.end = static_cast<std::int32_t>(blocks);
    s.room = static_cast<std::int32_t>(blocks * sizes_.block_size - num_tokens);
  }

  void drop_front(std::int64_t seq, std::int64_t num_blocks) {
    Sequence& s = live(seq);
    if (num_blocks < 0 || num_blocks >= s.end) throw_bad_drop(seq, num_blocks);
    if (num_blocks <= s.first) return;
    {
      auto&& pool = open_pool(pool_);
      for (std::int64_t logical = s.first; logical < num_blocks; ++logical) {
        const id_type id = table_.get(seq, logical);
        table_.remove(seq, logical);
        release(pool, id);
      }
    }
    s.first = static_cast<std::int32_t>(num_blocks);
  }

  void fork(std::int64_t parent, std::int64_t child) {
    const Sequence& from = live(parent);
    share(parent, child, from, from.end, from.room);
  }

  // The first `num_blocks` blocks, which must be full.
  void fork(std::int64_t parent, std::int64_t child, std::int64_t num_blocks) {
    const Sequence& from = live(parent);
    unused(child);
    const std::int64_t full = from.end - (from.room > 0 ? 1 : 0);
    if (num_blocks < 1 || num_blocks > full || num_blocks <= from.first) {
      throw_bad_prefix(parent, num_blocks);
    }
    share(parent, child, from, num_blocks, 0);
  }

  void free(std::int64_t seq) {
    Sequence& s = live(seq);
    {
      auto&& pool = open_pool(pool_);
      if constexpr (PagedTable<Table>) {
        by_page(s.first, s.end, [&](std::int64_t logical, std::int64_t count) {
          const id_type* ids = table_.at(seq, logical);
          for (std::int64_t i = 0; i < count; ++i) release(pool, ids[i]);
        });
      } else {
        for (std::int64_t logical = s.first; logical < s.end; ++logical) {
          release(pool, table_.get(seq, logical));
        }
      }
    }
    table_.end(seq);
    s = Sequence{};
  }

  // What lookups need, taken out of the manager once: a loop over lookups then finds it
  // in registers. The check is not on the way from the index to the answer: it reads the
  // sequence's state, not the table, and its branch is predicted. A sequence that does
  // not exist keeps no block, so the second compare finds that too.
  class Reader {
   public:
    explicit Reader(const Manager& manager)
        : table_(open_table(manager.table_)),
          sequences_(manager.sequences_.data()),
          max_seqs_(static_cast<std::uint64_t>(manager.sizes_.max_seqs)) {}

    id_type lookup(std::int64_t seq, std::int64_t logical) const {
      if (static_cast<std::uint64_t>(seq) >= max_seqs_) [[unlikely]] throw_unknown_sequence(seq);
      const Sequence& s = sequences_[seq];
      // Subtracted without a sign: any index may be asked for.
      const std::uint64_t kept =
          static_cast<std::uint64_t>(logical) - static_cast<std::uint64_t>(s.first);
      if (kept >= s.kept()) [[unlikely]] {
        if (s.end == 0) throw_unknown_sequence(seq);
        throw_not_in_table(seq, logical);
      }
      return table_.get(seq, logical);
    }

   private:
    open_table_t<Table> table_;
    const Sequence* sequences_;
    std::uint64_t max_seqs_;
  };

  id_type lookup(std::int64_t seq, std::int64_t logical) const {
    return Reader(*this).lookup(seq, logical);
  }

  std::int32_t ref_count(std::int64_t block) const {
    if (block < 0 || block >= sizes_.total_blocks) {
      throw_value("there is no block " + std::to_string(block));
    }
    return refs_.get(block);
  }

  std::int64_t num_free() const { return pool_.num_free(); }
  std::int64_t num_tokens(std::int64_t seq) const { return tokens(live(seq)); }

  // For the bindings, which read a whole table or look ahead over a batch.
  bool is_live(std::int64_t seq) const {
    return static_cast<std::uint64_t>(seq) < static_cast<std::uint64_t>(sizes_.max_seqs) &&
           sequences_[seq].end != 0;
  }
  const Sequence& sequence(std::int64_t seq) const { return live(seq); }
  bool last_block_is_shared(std::int64_t seq) const {
    return refs_.get(table_.get(seq, live(seq).end - 1)) > 1;
  }

  // Rows of `out` [count, width], lengths [count]: see contract.py. Rows before the one
  // that fails are written; the manager itself is not changed.
  [[gnu::noinline]] void write_block_tables(const std::int32_t* seqs, std::int64_t count,
                                            std::int32_t* out, std::int64_t width,
                                            std::int32_t* lengths) const {
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t seq = seqs[i];
      const Sequence& s = live(seq);
      if (s.end > width) [[unlikely]] throw_row_too_wide(seq, s.end, width);
      write_row(seq, s, out + i * width, width);
      lengths[i] = s.end;
    }
  }

  std::int64_t table_bytes() const { return table_.bytes() + sequences_.bytes(); }
  std::int64_t pool_bytes() const { return pool_.bytes() + refs_.bytes(); }

 private:
  const Sequence& live(std::int64_t seq) const {
    if (!is_live(seq)) [[unlikely]] throw_unknown_sequence(seq);
    return sequences_[seq];
  }
  Sequence& live(std::int64_t seq) {
    return const_cast<Sequence&>(static_cast<const Manager*>(this)->live(seq));
  }
  Sequence& unused(std::int64_t seq) {
    if (static_cast<std::uint64_t>(seq) >= static_cast<std::uint64_t>(sizes_.max_seqs))
        [[unlikely]] {
      throw_no_such_slot(seq, sizes_.max_seqs);
    }
    if (sequences_[seq].end != 0) [[unlikely]] throw_sequence_exists(seq);
    return sequences_[seq];
  }

  std::int64_t tokens(const Sequence& s) const { return s.end * sizes_.block_size - s.room; }

  void need(std::int64_t blocks) const {
    if (blocks > pool_.num_free()) [[unlikely]] throw_out_of_blocks(blocks, pool_.num_free());
  }

  // page(logical, count) for the blocks [first, end), page by page.
  template <class Page>
  [[gnu::always_inline]] static void by_page(std::int64_t first, std::int64_t end, Page&& page) {
    while (first < end) {
      const std::int64_t count = std::min(Table::adjacent(first), end - first);
      page(first, count);
      first += count;
    }
  }

  template <class OpenPool>
  void fill_one(OpenPool& pool, std::int64_t seq, std::int64_t logical) {
    const auto id = pool.take();
    try {
      table_.append(seq, logical, static_cast<id_type>(id));
    } catch (...) {
      pool.give(id);
      throw;
    }
    refs_.start(id);
  }
  // One block more is by far the most frequent. Many are out of line, or what their loops
  // keep would push the counter of a loop over single blocks out of its register.
  void fill(std::int64_t seq, std::int64_t first, std::int64_t end) {
    end - first == 1 ? fill_one(pool_, seq, first) : fill_many(seq, first, end);
  }
  [[gnu::noinline]] void fill_many(std::int64_t seq, std::int64_t first, std::int64_t end) {
    auto&& pool = open_pool(pool_);
    std::int64_t filled = first;
    try {
      if constexpr (PagedTable<Table>) {
        by_page(first, end, [&](std::int64_t logical, std::int64_t count) {
          id_type* places = table_.place(seq, logical, count);
          for (std::int64_t i = 0; i < count; ++i) {
            const auto id = pool.take();
            places[i] = static_cast<id_type>(id);
            refs_.start(id);
          }
          filled = logical + count;
        });
      } else {
        for (; filled < end; ++filled) fill_one(pool, seq, filled);
      }
    } catch (...) {
      while (filled-- > first) {
        const id_type id = table_.get(seq, filled);
        table_.remove(seq, filled);
        release(pool, id);
      }
      throw;
    }
  }

  template <class OpenPool>
  void release(OpenPool& pool, id_type id) {
    if (refs_.drop(id) == 0) pool.give(static_cast<typename Pool::id_type>(id));
  }

  // Before the last, partly filled block is written: a copy of its own if it is shared.
  template <class OnCopy>
  void own_last_block(std::int64_t seq, const Sequence& s, OnCopy&& on_copy) {
    const std::int64_t last = s.end - 1;
    const id_type shared = table_.get(seq, last);
    if (!CopyRule::needed(refs_, shared)) [[likely]] return;
    need(1);
    const auto own = static_cast<id_type>(pool_.take());
    refs_.start(own);
    if constexpr (CopyRule::others_keep_it) refs_.drop(shared);
    table_.replace(seq, last, own);
    on_copy(static_cast<std::int64_t>(shared), static_cast<std::int64_t>(own));
    if constexpr (!CopyRule::others_keep_it) release(pool_, shared);
  }

  void share(std::int64_t parent, std::int64_t child, const Sequence& from, std::int64_t blocks,
             std::int32_t room) {
    Sequence& to = unused(child);
    std::int64_t shared = from.first;
    try {
      table_.begin(child, from.first, blocks);
      if constexpr (PagedTable<Table>) {
        by_page(from.first, blocks, [&](std::int64_t logical, std::int64_t count) {
          id_type* places = table_.place(child, logical, count);
          const id_type* ids = table_.at(parent, logical);
          for (std::int64_t i = 0; i < count; ++i) {
            places[i] = ids[i];
            refs_.add(ids[i]);
          }
          shared = logical + count;
        });
      } else {
        for (; shared < blocks; ++shared) {
          const id_type id = table_.get(parent, shared);
          table_.append(child, shared, id);
          refs_.add(id);
        }
      }
    } catch (...) {
      while (shared-- > from.first) refs_.drop(table_.get(child, shared));
      table_.end(child);
      throw;
    }
    to = Sequence{from.first, static_cast<std::int32_t>(blocks), room};
  }

  // One row: zeros, ids, zeros.
  void write_row(std::int64_t seq, const Sequence& s, std::int32_t* __restrict out,
                 std::int64_t width) const {
    const std::int64_t end = s.end;
    std::int64_t logical = 0;
    for (; logical < s.first; ++logical) out[logical] = 0;
    if constexpr (PagedTable<Table>) {
      by_page(logical, end, [&](std::int64_t first, std::int64_t count) {
        widen(table_.at(seq, first), count, out + first);
      });
    } else {
      for (; logical < end; ++logical) {
        out[logical] = static_cast<std::int32_t>(table_.get(seq, logical));
      }
    }
    for (logical = end; logical < width; ++logical) out[logical] = 0;
  }

  Sizes sizes_;
  AlignedArray<Sequence> sequences_;
  Table table_;
  Pool pool_;
  Refs refs_;
};

}  // namespace blockmark
