// What every native structure and manager agrees on: the contract's errors, the
// sizes of a manager, the state kept for a sequence, and the concepts that a table,
// a pool and a set of ref counts must satisfy.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <limits>
#include <string>
#include <utility>

namespace blockmark {

// The four errors of the contract, and ValueError.
enum class ErrorKind { out_of_blocks, sequence_too_long, unknown_sequence, sequence_exists, value };

class Error : public std::exception {
 public:
  Error(ErrorKind kind, std::string message) : kind_(kind), message_(std::move(message)) {}

  ErrorKind kind() const noexcept { return kind_; }
  const char* what() const noexcept override { return message_.c_str(); }

  // Says which operation of a program failed.
  void locate(const char* operation, std::int64_t index) {
    message_ = "operation " + std::to_string(index) + " (" + operation + "): " + message_;
  }

 private:
  ErrorKind kind_;
  std::string message_;
};

// Out of line and cold, so that a check in a hot loop is one compare and one branch.
[[noreturn, gnu::cold]] void throw_value(const std::string& message);
[[noreturn, gnu::cold]] void throw_unknown_sequence(std::int64_t seq);
[[noreturn, gnu::cold]] void throw_not_in_table(std::int64_t seq, std::int64_t logical);
[[noreturn, gnu::cold]] void throw_sequence_exists(std::int64_t seq);
[[noreturn, gnu::cold]] void throw_no_such_slot(std::int64_t seq, std::int64_t max_seqs);
[[noreturn, gnu::cold]] void throw_too_long(std::int64_t seq, std::int64_t max_blocks);
[[noreturn, gnu::cold]] void throw_out_of_blocks(std::int64_t needed, std::int64_t free);
[[noreturn, gnu::cold]] void throw_bad_tokens(std::int64_t num_tokens);
[[noreturn, gnu::cold]] void throw_bad_truncate(std::int64_t seq, std::int64_t num_tokens);
[[noreturn, gnu::cold]] void throw_bad_drop(std::int64_t seq, std::int64_t num_blocks);
[[noreturn, gnu::cold]] void throw_bad_prefix(std::int64_t seq, std::int64_t num_blocks);
[[noreturn, gnu::cold]] void throw_row_too_wide(std::int64_t seq, std::int64_t blocks,
                                                std::int64_t width);

struct Sizes {
  std::int64_t total_blocks;
  std::int64_t block_size;  // tokens
  std::int64_t max_seqs;
  std::int64_t max_blocks_per_seq;
  std::int64_t row_pad = -1;  // ids added to each flat row; negative: the structure chooses

  // Throws Error(value) unless every size is positive and within 31 bits, and
  // `total_blocks` at most `id_limit`. Returns itself, for initialiser lists.
  const Sizes& checked(std::int64_t id_limit, const char* id_name) const;
};

// How many blocks an id type can number: all of its values, none left as a sentinel.
template <std::integral Id>
constexpr std::int64_t id_limit() {
  constexpr auto top = std::numeric_limits<Id>::max();
  if constexpr (static_cast<std::uint64_t>(top) >=
                static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
    return std::numeric_limits<std::int64_t>::max();
  } else {
    return static_cast<std::int64_t>(top) + 1;
  }
}

template <std::integral Id>
constexpr const char* id_name() {
  if constexpr (std::signed_integral<Id>) {
    return sizeof(Id) == 4 ? "int32" : sizeof(Id) == 8 ? "int64" : "int16";
  } else {
    return sizeof(Id) == 2 ? "uint16" : sizeof(Id) == 4 ? "uint32" : "uint64";
  }
}

// The bookkeeping of one sequence, the same for every table. A live sequence always
// has a block, so `end` also says whether it exists. `room` is what keeps a division
// out of append. Sixteen bytes: four to a cache line, never across one.
struct alignas(16) Sequence {
  std::int32_t first = 0;  // first logical block that was not dropped
  std::int32_t end = 0;    // logical blocks, dropped ones included; 0: no such sequence
  std::int32_t room = 0;   // token slots left in the last block

  std::uint64_t kept() const { return static_cast<std::uint32_t>(end - first); }
};

// From (sequence, logical block) to physical block. Indices are valid when a table
// sees them: the manager has checked them. Tables hold ids, nothing else.
//   begin(seq, first, count)      `seq` starts; its blocks will be [first, count)
//   append(seq, logical, id)      the block behind the last one
//   replace(seq, logical, id)     another block in its place (copy-on-write)
//   remove(seq, logical)          the last block (truncate) or the first kept one (drop_front)
//   end(seq)                      `seq` is over
//   bytes()                       held now, spare capacity included
template <class T>
concept BlockTable = std::integral<typename T::id_type> &&
                     std::constructible_from<T, const Sizes&> &&
                     requires(T table, const T& view, std::int64_t seq, std::int64_t logical,
                              typename T::id_type id) {
                       { T::name } -> std::convertible_to<const char*>;
                       { view.get(seq, logical) } -> std::same_as<typename T::id_type>;
                       table.begin(seq, logical, logical);
                       table.append(seq, logical, id);
                       table.replace(seq, logical, id);
                       table.remove(seq, logical);
                       table.end(seq);
                       { view.bytes() } -> std::convertible_to<std::int64_t>;
                     };

// A table whose ids lie side by side, in pages or (one page for all) in rows. Loops over
// many blocks then go page by page: the way to a page is gone once, and the loop inside
// it is one over an array.
//   adjacent(logical)              how many places lie side by side from `logical` on
//   at(seq, logical)               the place of a block in the table
//   place(seq, logical, count)     the first of `count` adjacent places for new blocks behind
//                                  the last one, which the caller fills
template <class T>
concept PagedTable = BlockTable<T> &&
                     requires(T table, const T& view, std::int64_t seq, std::int64_t logical) {
                       { T::adjacent(logical) } -> std::same_as<std::int64_t>;
                       { view.at(seq, logical) } -> std::same_as<const typename T::id_type*>;
                       {
                         table.place(seq, logical, logical)
                       } -> std::same_as<typename T::id_type*>;
                     };

// The places adjacent() names where all of a row lies side by side.
inline constexpr std::int64_t whole_row = std::numeric_limits<std::int64_t>::max();

// The free blocks. A fresh pool hands out 0, 1, 2, ...; take() is called only when
// num_free() > 0, and give() only with a block that was taken.
template <class P>
concept FreePool = std::integral<typename P::id_type> &&
                   std::constructible_from<P, std::int64_t> &&
                   requires(P pool, const P& view, typename P::id_type id) {
                     { P::name } -> std::convertible_to<const char*>;
                     { P::reuse_order } -> std::convertible_to<const char*>;
                     { view.num_free() } -> std::convertible_to<std::int64_t>;
                     { pool.take() } -> std::same_as<typename P::id_type>;
                     pool.give(id);
                     { view.bytes() } -> std::convertible_to<std::int64_t>;
                   };

// What a pool may have besides. A replay uses what is there, and says what is missing.
//   take(k, out)      `k` blocks at once, in the order of as many take(); at least `k` are free
//   give(ids, k)      `k` blocks back, in the order of as many give()
//   remove(id)        a free block out of the middle, as a prefix hit needs; with is_free(id)
//   free_words()      the free blocks as a bitmap that the pool keeps anyway (free_words.hpp)
//   each_free(visit)  every free block, from which such a bitmap can be marked; the type of
//                     `visit` is a template parameter, in the concept it is BlockVisitor
template <class P>
concept BatchPool = FreePool<P> && requires(P pool, std::int64_t k, typename P::id_type* out,
                                            const typename P::id_type* ids) {
  pool.take(k, out);
  pool.give(ids, k);
};

template <class P>
concept RemovingPool = FreePool<P> && requires(P pool, const P& view, typename P::id_type id) {
  { view.is_free(std::int64_t{}) } -> std::same_as<bool>;
  pool.remove(id);
};

struct FreeWords;

template <class P>
concept BitmappedPool = FreePool<P> && requires(const P& view) {
  { view.free_words() } -> std::convertible_to<FreeWords>;
};

struct BlockVisitor {
  void operator()(std::int64_t) const {}
};

template <class P>
concept ListedPool = FreePool<P> && requires(const P& view) { view.each_free(BlockVisitor{}); };

// How many tables name each block, in 32 bits. A sequence names a block once, so a
// count never exceeds the number of sequences, which Sizes keeps within 31 bits.
//   start(id)   0 -> 1      add(id)   + 1      drop(id)   - 1, returns what is left
template <class R>
concept RefCounting = std::constructible_from<R, std::int64_t> &&
                      requires(R refs, const R& view, std::int64_t id) {
                        { R::name } -> std::convertible_to<const char*>;
                        { view.get(id) } -> std::same_as<std::int32_t>;
                        refs.start(id);
                        refs.add(id);
                        { refs.drop(id) } -> std::same_as<std::int32_t>;
                        { view.bytes() } -> std::convertible_to<std::int64_t>;
                      };

// A structure opened for a loop over it. What would be stored or loaded again on every
// turn (a pool's position, a table's address) is kept in the opened object, which lives
// in registers, and a pool's position is written back at its end. A structure without an
// open() of this kind is used as it is.
template <class P>
concept OpenedPool = FreePool<P> && requires(P pool, typename P::id_type id) {
  { pool.open().take() } -> std::same_as<typename P::id_type>;
  pool.open().give(id);
};

template <class T>
concept OpenedTable =
    BlockTable<T> && requires(const T& view, std::int64_t seq, std::int64_t logical) {
      { view.open().get(seq, logical) } -> std::same_as<typename T::id_type>;
    };

template <class T>
decltype(auto) open_pool(T& pool) {
  if constexpr (OpenedPool<T>) {
    return pool.open();
  } else {
    return (pool);
  }
}

template <class T>
decltype(auto) open_table(const T& table) {
  if constexpr (OpenedTable<T>) {
    return table.open();
  } else {
    return (table);
  }
}

template <class T>
using open_table_t = decltype(open_table(std::declval<const T&>()));

// What malloc takes for a request: 8 bytes of header, multiples of 16, at least 32.
constexpr std::int64_t malloc_chunk(std::int64_t bytes) {
  const std::int64_t chunk = (bytes + 8 + 15) / 16 * 16;
  return bytes == 0 ? 0 : chunk < 32 ? 32 : chunk;
}

// Keeps a value alive without storing it, so that no load is removed.
template <std::integral T>
[[gnu::always_inline]] inline void sink(T value) {
  asm volatile("" : : "r"(value));
}

}  // namespace blockmark
