// A manager that is one class, not composed of a table and a pool: what it must have, and
// what is added to make it a target of replays and a class of Python's.
#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>

#include "contract.hpp"
#include "op.hpp"

namespace blockmark {

// Stands for on_copy in the concept. What comes in its place is a closure with a state of
// its own, and constant, so a pointer to a function would ask for less than is needed.
struct CopyListener {
  void operator()(std::int64_t, std::int64_t) const {}
};

// What a loop over lookups makes before it begins, and uses alone.
template <class Reader, class M>
concept LookupReader =
    std::constructible_from<Reader, const M&> &&
    requires(const Reader& reader, std::int64_t seq, std::int64_t logical) {
      { reader.lookup(seq, logical) } -> std::same_as<typename M::id_type>;
    };

// What is added is in a class that is derived from the manager's.
template <class M>
concept NotFinal = !std::is_final_v<M>;

// The contract of blockmark_impls/contract.py; its errors are those that contract.hpp throws.
//   on_copy(src, dst)    is called for each copy-on-write; its type is a template parameter
//   allocate(seq, tokens), append(seq, on_copy), extend(seq, tokens, on_copy),
//   truncate(seq, tokens), drop_front(seq, blocks), free(seq), lookup(seq, logical)
//   fork(parent, child)  the whole table; fork(parent, child, blocks) the first full blocks
//   sequence(seq)        first block kept, blocks and room of a live sequence
//   write_block_tables(seqs, count, out, width, lengths)
//                        `out` has `count` rows of `width` ids; a wider table is Error(value)
// Optional: a class Reader, a LookupReader; without one a loop calls lookup().
//
// Where several errors apply, the sequence is looked at first (for fork the parent, then the
// child), then the argument's value, then the table's length, then the pool. Checks come
// before changes: after each error the state is as it was.
//   a new sequence (of allocate, the child of fork)
//                        outside [0, max_seqs): Error(value); live: Error(sequence_exists)
//   every other one      outside [0, max_seqs) or not live: Error(unknown_sequence)
//   lookup               a block that is not in the table: Error(unknown_sequence)
//   ref_count            a block that the pool does not have: Error(value)
// The sizes that the constructor is given are positive, and id_type numbers all blocks.
template <class M>
concept WholeManager =
    std::integral<typename M::id_type> && std::constructible_from<M, const Sizes&> &&
    NotFinal<M> &&
    requires(M manager, const M& view, std::int64_t seq, std::int64_t count,
             const CopyListener& on_copy, const std::int32_t* seqs, std::int32_t* out) {
      { M::name } -> std::convertible_to<const char*>;
      { M::reuse_order } -> std::convertible_to<const char*>;
      { view.sizes() } -> std::convertible_to<const Sizes&>;
      { view.can_allocate(count) } -> std::convertible_to<bool>;
      manager.allocate(seq, count);
      manager.append(seq, on_copy);
      manager.extend(seq, count, on_copy);
      manager.truncate(seq, count);
      manager.drop_front(seq, count);
      manager.fork(seq, seq);
      manager.fork(seq, seq, count);
      manager.free(seq);
      { view.lookup(seq, count) } -> std::same_as<typename M::id_type>;
      { view.ref_count(count) } -> std::convertible_to<std::int32_t>;
      { view.num_free() } -> std::convertible_to<std::int64_t>;
      { view.num_tokens(seq) } -> std::convertible_to<std::int64_t>;
      { view.sequence(seq) } -> std::convertible_to<Sequence>;
      view.write_block_tables(seqs, count, out, count, out);
      { view.table_bytes() } -> std::convertible_to<std::int64_t>;
      { view.pool_bytes() } -> std::convertible_to<std::int64_t>;
    } &&
    (!requires { typename M::Reader; } || LookupReader<typename M::Reader, M>);

template <WholeManager M>
class Completed : public M {
 public:
  explicit Completed(const Sizes& sizes)
      : M(sizes.checked(id_limit<typename M::id_type>(), id_name<typename M::id_type>())) {}

  static constexpr OpSet served = manager_ops;

  class Plain {
   public:
    explicit Plain(const M& manager) : manager_(manager) {}
    typename M::id_type lookup(std::int64_t seq, std::int64_t logical) const {
      return manager_.lookup(seq, logical);
    }

   private:
    const M& manager_;
  };
  using Reader = typename decltype([] {
    if constexpr (requires { typename M::Reader; }) {
      return std::type_identity<typename M::Reader>{};
    } else {
      return std::type_identity<Plain>{};
    }
  }())::type;

  // What BatchCheck asks besides; it numbers its own marks by sequence.
  bool is_live(std::int64_t seq) const {
    if (seq < 0 || seq >= this->sizes().max_seqs) return false;
    try {
      const Sequence s = this->sequence(seq);
      return s.end != 0;
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::unknown_sequence) return false;
      throw;
    }
  }
  bool last_block_is_shared(std::int64_t seq) const {
    const Sequence s = this->sequence(seq);
    return this->ref_count(static_cast<std::int64_t>(this->lookup(seq, s.end - 1))) > 1;
  }
};

}  // namespace blockmark
