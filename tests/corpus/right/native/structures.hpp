// Tables and free pools that are right, each of them odd.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "blockmark.hpp"

namespace corpus {

// One std::map for all sequences.
// right: nothing of it lies side by side
class MapTable {
 public:
  using id_type = std::int32_t;
  static constexpr const char* name = "map";

  explicit MapTable(const blockmark::Sizes&) {}
  id_type get(std::int64_t seq, std::int64_t logical) const { return ids_.at({seq, logical}); }
  void begin(std::int64_t, std::int64_t, std::int64_t) {}
  void append(std::int64_t seq, std::int64_t logical, id_type id) { ids_[{seq, logical}] = id; }
  void replace(std::int64_t seq, std::int64_t logical, id_type id) { ids_[{seq, logical}] = id; }
  void remove(std::int64_t seq, std::int64_t logical) { ids_.erase({seq, logical}); }
  void end(std::int64_t seq) {
    ids_.erase(ids_.lower_bound({seq, 0}), ids_.lower_bound({seq + 1, 0}));
  }
  std::int64_t bytes() const { return static_cast<std::int64_t>(ids_.size() * 64); }

 private:
  std::map<std::pair<std::int64_t, std::int64_t>, id_type> ids_;
};

// Ids have 64 bits with a sign, and rows grow from their end to their beginning.
// right: wide ids, and rows that lie backwards
class WideBackwardsTable {
 public:
  using id_type = std::int64_t;
  static constexpr const char* name = "wide-backwards";

  explicit WideBackwardsTable(const blockmark::Sizes& sizes)
      : width_(sizes.max_blocks_per_seq),
        ids_(static_cast<std::size_t>(sizes.max_seqs * width_), -1) {}
  id_type get(std::int64_t seq, std::int64_t logical) const { return ids_[at(seq, logical)]; }
  void begin(std::int64_t, std::int64_t, std::int64_t) {}
  void append(std::int64_t seq, std::int64_t logical, id_type id) { ids_[at(seq, logical)] = id; }
  void replace(std::int64_t seq, std::int64_t logical, id_type id) { ids_[at(seq, logical)] = id; }
  void remove(std::int64_t seq, std::int64_t logical) { ids_[at(seq, logical)] = -1; }
  void end(std::int64_t) {}
  std::int64_t bytes() const { return static_cast<std::int64_t>(ids_.size() * sizeof(id_type)); }

 private:
  std::size_t at(std::int64_t seq, std::int64_t logical) const {
    return static_cast<std::size_t>((seq + 1) * width_ - 1 - logical);
  }

  std::int64_t width_;
  std::vector<id_type> ids_;
};

// The free blocks in a std::set, of which the lowest is taken.
// right: declared as the lowest first
class LowestPool {
 public:
  using id_type = std::int32_t;
  static constexpr const char* name = "lowest";
  static constexpr const char* reuse_order = "lowest";

  explicit LowestPool(std::int64_t total_blocks) {
    for (std::int64_t id = 0; id < total_blocks; ++id) free_.insert(static_cast<id_type>(id));
  }
  std::int64_t num_free() const { return static_cast<std::int64_t>(free_.size()); }
  id_type take() { return free_.extract(free_.begin()).value(); }
  void give(id_type id) { free_.insert(id); }
  bool is_free(std::int64_t id) const { return free_.contains(static_cast<id_type>(id)); }
  void remove(id_type id) { free_.erase(id); }
  std::int64_t bytes() const { return static_cast<std::int64_t>(free_.size() * 48); }

 private:
  std::set<id_type> free_;
};

// The free block that follows the last one taken, from a std::set and around its end.
// right: declared as next-fit, and no bitmap
class NextFitSetPool {
 public:
  using id_type = std::int64_t;
  static constexpr const char* name = "next-fit-set";
  static constexpr const char* reuse_order = "next-fit";

  explicit NextFitSetPool(std::int64_t total_blocks) {
    for (std::int64_t id = 0; id < total_blocks; ++id) free_.insert(id);
  }
  std::int64_t num_free() const { return static_cast<std::int64_t>(free_.size()); }
  id_type take() {
    auto next = free_.lower_bound(cursor_);
    if (next == free_.end()) next = free_.begin();
    cursor_ = *next + 1;
    return free_.extract(next).value();
  }
  void give(id_type id) { free_.insert(id); }
  template <class Visit>
  void each_free(Visit&& visit) const {
    for (const id_type id : free_) visit(id);
  }
  std::int64_t bytes() const { return static_cast<std::int64_t>(free_.size() * 48); }

 private:
  std::set<id_type> free_;
  id_type cursor_ = 0;
};

// A new pool hands out 0, 1, 2, ...; what came back is taken in an order drawn by lot.
// right: an order that no rule describes, declared as unspecified
class LotteryPool {
 public:
  using id_type = std::int32_t;
  static constexpr const char* name = "lottery";
  static constexpr const char* reuse_order = "unspecified";

  explicit LotteryPool(std::int64_t total_blocks) : total_(total_blocks) {}
  std::int64_t num_free() const {
    return total_ - next_ + static_cast<std::int64_t>(returned_.size());
  }
  id_type take() {
    draw_ = draw_ * 6364136223846793005u + 1442695040888963407u;
    const std::uint64_t lot = draw_ >> 33;
    if (returned_.empty() || (next_ < total_ && lot % 2 == 0)) return static_cast<id_type>(next_++);
    std::swap(returned_[lot % returned_.size()], returned_.back());
    const id_type id = returned_.back();
    returned_.pop_back();
    return id;
  }
  void give(id_type id) { returned_.push_back(id); }
  std::int64_t bytes() const {
    return static_cast<std::int64_t>(sizeof *this + returned_.capacity() * sizeof(id_type));
  }

 private:
  std::int64_t total_;
  std::int64_t next_ = 0;
  std::uint64_t draw_ = 1;
  std::vector<id_type> returned_;
};

// A std::deque from whose front blocks are taken, one by one or several at once.
// right: first in, first out, with batches
class DequePool {
 public:
  using id_type = std::int32_t;
  static constexpr const char* name = "deque";
  static constexpr const char* reuse_order = "FIFO";

  explicit DequePool(std::int64_t total_blocks) {
    for (std::int64_t id = 0; id < total_blocks; ++id) free_.push_back(static_cast<id_type>(id));
  }
  std::int64_t num_free() const { return static_cast<std::int64_t>(free_.size()); }
  id_type take() {
    const id_type id = free_.front();
    free_.pop_front();
    return id;
  }
  void give(id_type id) { free_.push_back(id); }
  void take(std::int64_t k, id_type* out) {
    for (std::int64_t i = 0; i < k; ++i) out[i] = take();
  }
  void give(const id_type* ids, std::int64_t k) { free_.insert(free_.end(), ids, ids + k); }
  std::int64_t bytes() const { return static_cast<std::int64_t>(free_.size() * sizeof(id_type)); }

 private:
  std::deque<id_type> free_;
};

// A stack whose opened object keeps up to 16 blocks that come back, and hands them out first.
// right: an opened object that buffers
class BufferedStackPool {
 public:
  using id_type = std::int32_t;
  static constexpr const char* name = "buffered-stack";
  static constexpr const char* reuse_order = "LIFO";

  explicit BufferedStackPool(std::int64_t total_blocks) {
    for (std::int64_t id = total_blocks; id-- > 0;) free_.push_back(static_cast<id_type>(id));
  }
  std::int64_t num_free() const { return static_cast<std::int64_t>(free_.size()); }
  id_type take() {
    const id_type id = free_.back();
    free_.pop_back();
    return id;
  }
  void give(id_type id) { free_.push_back(id); }
  std::int64_t bytes() const {
    return static_cast<std::int64_t>(free_.capacity() * sizeof(id_type));
  }

  class Open {
   public:
    explicit Open(BufferedStackPool& pool) : pool_(pool) {}
    Open(const Open&) = delete;
    Open& operator=(const Open&) = delete;
    ~Open() { flush(); }

    id_type take() {
      if (held_ == 0) return pool_.take();
      return buffer_[--held_];
    }
    void give(id_type id) {
      if (held_ == most) flush();
      buffer_[held_++] = id;
    }

   private:
    static constexpr int most = 16;
    void flush() {
      for (int i = 0; i < held_; ++i) pool_.give(buffer_[i]);
      held_ = 0;
    }

    BufferedStackPool& pool_;
    id_type buffer_[most];
    int held_ = 0;
  };
  Open open() { return Open(*this); }

 private:
  std::vector<id_type> free_;
};

BLOCKMARK_TABLE(MapTable);
BLOCKMARK_TABLE(WideBackwardsTable);
BLOCKMARK_POOL(LowestPool);
BLOCKMARK_POOL(NextFitSetPool);
BLOCKMARK_POOL(LotteryPool);
BLOCKMARK_POOL(DequePool);
BLOCKMARK_POOL(BufferedStackPool);

}  // namespace corpus
