// A manager that is one class, not composed of a table and a pool: what it must have, and
// what is added to make it a target of replays.
#pragma once

#include <concepts>
#include <cstdint>

#include "contract.hpp"
#include "op.hpp"

namespace blockmark {

// The contract of blockmark_impls/contract.py. `on_copy(src, dst)` is called for each
// copy-on-write; it is a template parameter, here stood for by a function pointer.
//   sequence(seq)   first block kept, blocks and room of a live sequence, else throws
// Optional: a class Reader, constructed from a const manager, with lookup(seq, logical);
// a loop over lookups makes one before it begins and uses nothing else.
template <class M>
concept WholeManager =
    std::integral<typename M::id_type> && std::constructible_from<M, const Sizes&> &&
    requires(M manager, const M& view, std::int64_t seq, std::int64_t count,
             void (*on_copy)(std::int64_t, std::int64_t), const std::int32_t* seqs,
             std::int32_t* out) {
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
    };

template <WholeManager M>
class Completed : public M {
 public:
  using M::M;

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

  bool last_block_is_shared(std::int64_t seq) const {
    const Sequence s = this->sequence(seq);
    return this->ref_count(static_cast<std::int64_t>(this->lookup(seq, s.end - 1))) > 1;
  }
};

}  // namespace blockmark
