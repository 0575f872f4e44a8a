// The floors that the machine allows: what the same programs cost on plain memory, with
// nothing of a block manager around it. Never a right answer, so never verified.
//
//   LOOKUP, LOOKUP_CHAIN   one load from an array of the table's size and row length, at
//                          seq * row + logical, without any check. The contents are an
//                          ascending pattern; no operation changes them.
//   TAKE, GIVE             an index stack, from whose top as many ids are copied as are
//                          asked for; the top is loaded from memory and stored back once.
//   ALLOCATE, EXTEND,      the same copy, to the ids' places in a row, or from there back:
//   APPEND, TRUNCATE,      the same traffic of ids as a table has, but no ref counts. Only
//   FREE                   the block count and the free slots of each sequence are kept,
//                          to know how many.
//   PACK                   the ids of a row, as many as the sequence has blocks, widened to
//                          int32 (copied where they are int32), and zeros behind them.
//
// A pop of an empty stack and a row that would overflow are errors, once an operation,
// so that a wrong program cannot write outside.
#pragma once

#include <cstdint>
#include <cstring>

#include "../aligned_array.hpp"
#include "../contract.hpp"
#include "../op.hpp"
#include "../program.hpp"
#include "../tables/flat.hpp"
#include "../widen.hpp"

namespace blockmark {

template <std::unsigned_integral Id>
class RawStack {
 public:
  using id_type = Id;
  static constexpr const char* name = "raw";
  static constexpr const char* reuse_order = "LIFO";

  explicit RawStack(std::int64_t total_blocks) : ids_(total_blocks, Id{0}), top_(total_blocks) {
    for (std::int64_t i = 0; i < total_blocks; ++i) ids_[i] = static_cast<Id>(total_blocks - 1 - i);
  }

  std::int64_t num_free() const { return top_; }
  Id take() {
    reload();
    return ids_[--top_];
  }
  void give(Id id) {
    reload();
    ids_[top_++] = id;
  }
  // In the order in which they lie, since nobody asks a floor which ids these are.
  void take(std::int64_t k, Id* out) {
    reload();
    top_ -= k;
    std::memcpy(out, ids_.data() + top_, bytes_of(k));
  }
  void give(const Id* ids, std::int64_t k) {
    reload();
    std::memcpy(ids_.data() + top_, ids, bytes_of(k));
    top_ += k;
  }
  std::int64_t bytes() const { return ids_.bytes(); }

 private:
  static std::size_t bytes_of(std::int64_t k) { return static_cast<std::size_t>(k) * sizeof(Id); }
  // The top must be in memory before, and may have changed after.
  [[gnu::always_inline]] void reload() { asm volatile("" : "+m"(top_)); }

  AlignedArray<Id> ids_;
  std::int64_t top_;
};

template <std::unsigned_integral Id>
class RawArray {
 public:
  using id_type = Id;

  static constexpr OpSet served{Op::can_allocate, Op::allocate, Op::append,       Op::extend,
                                Op::truncate,     Op::free,     Op::lookup,       Op::lookup_chain,
                                Op::pack,         Op::take,     Op::give};

  explicit RawArray(const Sizes& sizes)
      : sizes_(sizes.checked(id_limit<Id>(), id_name<Id>())),
        row_pad_(sizes.row_pad < 0 ? FlatTable<Id>::chosen_pad(sizes.max_blocks_per_seq)
                                   : sizes.row_pad),
        stride_(sizes.max_blocks_per_seq + row_pad_),
        array_(product(sizes.max_seqs, stride_), Id{0}),
        rows_(array_.size(), Id{0}),
        sequences_(sizes.max_seqs, Sequence{}),
        stack_(sizes.total_blocks) {
    for (std::int64_t i = 0; i < array_.size(); ++i) array_[i] = static_cast<Id>(i);
  }

  const Sizes& sizes() const { return sizes_; }
  std::int64_t row_pad() const { return row_pad_; }
  RawStack<Id>& pool() { return stack_; }
  std::int64_t num_free() const { return stack_.num_free(); }

  // Lookups are not checked one by one, so the program is, before the clock.
  void check_fits(const Program& program) const {
    if (program.max_seq() >= sizes_.max_seqs) {
      throw_no_such_slot(program.max_seq(), sizes_.max_seqs);
    }
    if (program.max_logical() >= sizes_.max_blocks_per_seq) {
      throw_value("the program looks up block " + std::to_string(program.max_logical()) +
                  ", rows have " + std::to_string(sizes_.max_blocks_per_seq));
    }
  }

  struct Reader {
    explicit Reader(const RawArray& raw) : array(raw.array_.data()), stride(raw.stride_) {}

    Id lookup(std::int64_t seq, std::int64_t logical) const {
      return (array + seq * stride)[logical];
    }

    const Id* array;
    std::int64_t stride;
  };

  bool can_allocate(std::int64_t num_blocks) const { return num_blocks <= stack_.num_free(); }

  void allocate(std::int64_t seq, std::int64_t num_tokens) {
    if (sequences_[seq].end != 0) throw_sequence_exists(seq);
    if (num_tokens < 1) throw_bad_tokens(num_tokens);
    grow(seq, sequences_[seq], num_tokens);
  }
  template <class OnCopy>
  void append(std::int64_t seq, OnCopy&& on_copy) {
    extend(seq, 1, on_copy);
  }
  template <class OnCopy>
  void extend(std::int64_t seq, std::int64_t num_tokens, OnCopy&&) {
    Sequence& s = sequences_[seq];
    if (num_tokens < 0) throw_bad_tokens(num_tokens);
    if (num_tokens <= s.room) {
      s.room -= static_cast<std::int32_t>(num_tokens);
    } else {
      grow(seq, s, num_tokens);
    }
  }
  void truncate(std::int64_t seq, std::int64_t num_tokens) {
    Sequence& s = sequences_[seq];
    if (num_tokens < 1 || num_tokens > s.end * sizes_.block_size - s.room) {
      throw_bad_truncate(seq, num_tokens);
    }
    const std::int64_t blocks = (num_tokens - 1) / sizes_.block_size + 1;
    stack_.give(rows_.data() + seq * stride_ + blocks, s.end - blocks);
    s.end = static_cast<std::int32_t>(blocks);
    s.room = static_cast<std::int32_t>(blocks * sizes_.block_size - num_tokens);
  }
  void free(std::int64_t seq) {
    Sequence& s = sequences_[seq];
    stack_.give(rows_.data() + seq * stride_, s.end);
    s = Sequence{};
  }

  void write_block_tables(const std::int32_t* seqs, std::int64_t count, std::int32_t* out,
                          std::int64_t width, std::int32_t*) const {
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t end = sequences_[seqs[i]].end;
      std::int32_t* row = out + i * width;
      widen(rows_.data() + seqs[i] * stride_, end, row);
      for (std::int64_t k = end; k < width; ++k) row[k] = 0;
    }
  }

  std::int64_t table_bytes() const { return array_.bytes(); }
  std::int64_t pool_bytes() const { return stack_.bytes(); }

 private:
  static std::int64_t product(std::int64_t rows, std::int64_t stride) {
    std::int64_t items = 0;
    if (__builtin_mul_overflow(rows, stride, &items)) throw_value("the array is too large");
    return items;
  }

  void grow(std::int64_t seq, Sequence& s, std::int64_t num_tokens) {
    const std::int64_t beyond = num_tokens - s.room;
    const std::int64_t fresh =
        beyond <= sizes_.block_size ? 1 : (beyond - 1) / sizes_.block_size + 1;
    if (fresh > sizes_.max_blocks_per_seq - s.end) throw_too_long(seq, sizes_.max_blocks_per_seq);
    if (fresh > stack_.num_free()) throw_out_of_blocks(fresh, stack_.num_free());
    Id* row = rows_.data() + seq * stride_ + s.end;
    // A call of memcpy for one id would cost more than the id.
    if (fresh == 1) {
      *row = stack_.take();
    } else {
      stack_.take(fresh, row);
    }
    s.end += static_cast<std::int32_t>(fresh);
    s.room = static_cast<std::int32_t>(fresh * sizes_.block_size - beyond);
  }

  Sizes sizes_;
  std::int64_t row_pad_;
  std::int64_t stride_;
  AlignedArray<Id> array_;
  AlignedArray<Id> rows_;
  AlignedArray<Sequence> sequences_;
  RawStack<Id> stack_;
};

}  // namespace blockmark
