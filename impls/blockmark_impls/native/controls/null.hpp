// The control that does nothing: what is left is the cost of the replay loop itself.
// It answers every operation, never fails, and holds no state.
#pragma once

#include <cstdint>

#include "../contract.hpp"
#include "../op.hpp"

namespace blockmark {

class NullPool {
 public:
  using id_type = std::int32_t;
  static constexpr const char* name = "null";
  static constexpr const char* reuse_order = "unspecified";

  explicit NullPool(std::int64_t total_blocks) : total_blocks_(total_blocks) {}

  std::int64_t num_free() const { return total_blocks_; }
  id_type take() {
    id_type id = 0;
    asm volatile("" : "+r"(id));
    return id;
  }
  void give(id_type id) { sink(id); }
  // Many blocks are one call here too: what is left is the loop's own cost, in batches as
  // well, which a pool that serves them whole is held against.
  void take(std::int64_t k, id_type* out) { asm volatile("" : : "r"(k), "r"(out) : "memory"); }
  void give(const id_type* ids, std::int64_t k) { asm volatile("" : : "r"(k), "r"(ids)); }
  std::int64_t bytes() const { return 0; }

 private:
  std::int64_t total_blocks_;
};

class NullManager {
 public:
  using id_type = std::int32_t;

  static constexpr OpSet served{Op::can_allocate, Op::allocate,     Op::append, Op::extend,
                                Op::truncate,     Op::drop_front,   Op::fork,   Op::free,
                                Op::lookup,       Op::lookup_chain, Op::pack,   Op::take,
                                Op::give};

  explicit NullManager(const Sizes& sizes)
      : sizes_(sizes.checked(std::numeric_limits<std::int64_t>::max(), "int64")),
        pool_(sizes.total_blocks) {}

  const Sizes& sizes() const { return sizes_; }
  NullPool& pool() { return pool_; }

  // Operands are read and kept, so that the loops are not removed.
  bool can_allocate(std::int64_t num_blocks) const {
    sink(num_blocks);
    return true;
  }
  void allocate(std::int64_t seq, std::int64_t num_tokens) { sink2(seq, num_tokens); }
  template <class OnCopy>
  void append(std::int64_t seq, OnCopy&&) {
    sink(seq);
  }
  template <class OnCopy>
  void extend(std::int64_t seq, std::int64_t num_tokens, OnCopy&&) {
    sink2(seq, num_tokens);
  }
  void truncate(std::int64_t seq, std::int64_t num_tokens) { sink2(seq, num_tokens); }
  void drop_front(std::int64_t seq, std::int64_t num_blocks) { sink2(seq, num_blocks); }
  void fork(std::int64_t parent, std::int64_t child) { sink2(parent, child); }
  void fork(std::int64_t parent, std::int64_t child, std::int64_t num_blocks) {
    sink2(parent, child);
    sink(num_blocks);
  }
  void free(std::int64_t seq) { sink(seq); }
  struct Reader {
    explicit Reader(const NullManager&) {}

    std::int64_t lookup(std::int64_t seq, std::int64_t logical) const {
      sink(seq);
      return logical;
    }
  };
  std::int64_t lookup(std::int64_t seq, std::int64_t logical) const {
    return Reader(*this).lookup(seq, logical);
  }
  std::int32_t ref_count(std::int64_t) const { return 0; }
  std::int64_t num_free() const { return pool_.num_free(); }
  std::int64_t num_tokens(std::int64_t) const { return 0; }
  Sequence sequence(std::int64_t) const { return {}; }
  bool last_block_is_shared(std::int64_t) const { return false; }
  void write_block_tables(const std::int32_t* seqs, std::int64_t count, std::int32_t*, std::int64_t,
                          std::int32_t*) const {
    for (std::int64_t i = 0; i < count; ++i) sink(seqs[i]);
  }
  std::int64_t table_bytes() const { return 0; }
  std::int64_t pool_bytes() const { return 0; }

 private:
  static void sink2(std::int64_t a, std::int64_t b) {
    sink(a);
    sink(b);
  }

  Sizes sizes_;
  NullPool pool_;
};

}  // namespace blockmark
