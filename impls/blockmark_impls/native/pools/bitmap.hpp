// A bit for every block, set while it is free, below words that sum up words: a bit of a
// level says whether any bit of a word of the level below is set, so that the next free
// block is found in a step for each level, however full the pool is.
//
// Blocks are handed out in ascending order from where the last hand-out ended (next-fit),
// and around the end. The lowest free block first would be simpler, but then whoever gives
// back and takes again finds the same low words, and the free blocks gather at the top by
// themselves, which flatters the bitmap.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <utility>

#include "../aligned_array.hpp"
#include "../contract.hpp"
#include "../free_words.hpp"

namespace blockmark {

// It stores no ids; the type is only that of those handed out.
template <std::integral Id>
class BitmapPool {
 public:
  using id_type = Id;
  static constexpr const char* name = "bitmap";
  static constexpr const char* reuse_order = "next-fit";

  explicit BitmapPool(std::int64_t total_blocks)
      : total_(total_blocks), words_(words_in_all(total_blocks), 0), num_free_(total_blocks) {
    std::uint64_t* level = words_.data();
    std::int64_t bits = total_blocks;
    do {
      levels_[depth_] = {level, (bits + 63) / 64};
      for (std::int64_t word = 0; word < levels_[depth_].size; ++word) {
        const std::int64_t left = bits - word * 64;
        level[word] = left >= 64 ? all : (std::uint64_t{1} << left) - 1;
      }
      bits = levels_[depth_].size;
      level += bits;
      ++depth_;
    } while (bits > 1);
  }

  std::int64_t num_free() const { return num_free_; }
  Id take() {
    const std::int64_t id = next_free(cursor_);
    cursor_ = id + 1;
    remove(static_cast<Id>(id));
    return static_cast<Id>(id);
  }
  void give(Id id) {
    ++num_free_;
    set(0, word_of(id), bit_of(id));
  }

  // Word by word: one search and one store for as many blocks as the word has.
  void take(std::int64_t k, Id* out) {
    num_free_ -= k;
    while (k > 0) {
      const std::int64_t first = next_free(cursor_);
      const std::int64_t word = first >> 6;
      std::uint64_t& stored = levels_[0].words[word];
      const std::uint64_t offered = stored & (all << (first & 63));
      std::uint64_t left = offered;
      if (offered == all && k >= 64) {
        for (std::int64_t i = 0; i < 64; ++i) out[i] = static_cast<Id>(first + i);
        left = 0;
        out += 64;
        k -= 64;
      } else {
        do {
          *out++ = static_cast<Id>(word * 64 + std::countr_zero(left));
          left &= left - 1;
        } while (--k > 0 && left != 0);
      }
      const std::uint64_t taken = offered ^ left;
      cursor_ = word * 64 + std::bit_width(taken);
      stored ^= taken;
      if (stored == 0) clear_above(word);
    }
  }
  // What was handed out together lies in few words, and in order.
  void give(const Id* ids, std::int64_t k) {
    num_free_ += k;
    for (std::int64_t i = 0; i < k;) {
      const std::int64_t word = word_of(ids[i]);
      std::uint64_t bits = 0;
      do {
        bits |= bit_of(ids[i]);
      } while (++i < k && word_of(ids[i]) == word);
      set(0, word, bits);
    }
  }

  bool is_free(std::int64_t id) const {
    return id >= 0 && id < total_ &&
           (levels_[0].words[id / 64] >> (id % 64) & std::uint64_t{1}) != 0;
  }
  // Any block that is free. It keeps no order, so one that comes back has lost its age.
  void remove(Id id) {
    --num_free_;
    const std::int64_t word = word_of(id);
    if ((levels_[0].words[word] &= ~bit_of(id)) == 0) clear_above(word);
  }
  FreeWords free_words() const { return {levels_[0].words, total_}; }
  std::int64_t bytes() const { return words_.bytes(); }

 private:
  static constexpr std::uint64_t all = ~std::uint64_t{0};
  static constexpr int most_levels = 6;  // for 31 bits, of which each level takes 6

  struct Level {
    std::uint64_t* words;
    std::int64_t size;
  };

  static std::int64_t words_in_all(std::int64_t bits) {
    std::int64_t words = 0;
    do {
      bits = (bits + 63) / 64;
      words += bits;
    } while (bits > 1);
    return words;
  }
  // Shifts: a signed division by 64 would round towards zero, which no id needs.
  static std::int64_t word_of(Id id) { return static_cast<std::int64_t>(id) >> 6; }
  static std::uint64_t bit_of(Id id) {
    return std::uint64_t{1} << (static_cast<std::uint64_t>(id) % 64);
  }

  // The lowest free block from `from` on, else the lowest of all; one must be free.
  std::int64_t next_free(std::int64_t from) const {
    std::int64_t at = from;
    int level = 0;
    for (;;) {
      const std::int64_t word = at >> 6;
      if (word < levels_[level].size) {
        const std::uint64_t bits = levels_[level].words[word] & (all << (at & 63));
        if (bits != 0) {
          at = word * 64 + std::countr_zero(bits);
          break;
        }
      }
      // None in the rest of this word: ask the level above for the next word that has one.
      at = word + 1;
      if (++level == depth_) {
        // Around once. Nothing at the second end: the count is wrong, since a block was given
        // that was free.
        if (std::exchange(from, -1) < 0) [[unlikely]] throw_value("no block of the pool is free");
        at = 0;
        level = 0;
      }
    }
    while (level > 0) {
      --level;
      at = at * 64 + std::countr_zero(levels_[level].words[at]);
    }
    return at;
  }

  void set(int level, std::int64_t word, std::uint64_t bits) {
    for (; level < depth_; ++level) {
      const std::uint64_t before = levels_[level].words[word];
      levels_[level].words[word] = before | bits;
      if (before != 0) return;
      bits = std::uint64_t{1} << (word & 63);
      word >>= 6;
    }
  }
  // `word` of the lowest level has no free block any more.
  void clear_above(std::int64_t word) {
    for (int level = 1; level < depth_; ++level) {
      const std::uint64_t bit = std::uint64_t{1} << (word & 63);
      word >>= 6;
      if ((levels_[level].words[word] &= ~bit) != 0) return;
    }
  }

  std::int64_t total_;
  AlignedArray<std::uint64_t> words_;  // every level, the lowest first
  std::array<Level, most_levels> levels_{};
  int depth_ = 0;
  std::int64_t cursor_ = 0;
  std::int64_t num_free_;
};

static_assert(FreePool<BitmapPool<std::uint16_t>>);
static_assert(BatchPool<BitmapPool<std::uint16_t>>);

}  // namespace blockmark
