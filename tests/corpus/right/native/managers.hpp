// Whole managers that are right, each of them odd.
#pragma once

#include <cstdint>
#include <vector>

#include "../../native/plain_manager.hpp"
#include "blockmark.hpp"

namespace corpus {

// Written from scratch: no table, no pool and no ref counts of the core.
// right: nothing but what the concept asks for
class ScratchManager : public PlainManager<ScratchManager> {
 public:
  using PlainManager<ScratchManager>::PlainManager;
};

// Whoever asks for a ref count has it counted, from all tables.
// right: ref counts are counted anew for every question
class CountingManager : public PlainManager<CountingManager> {
 public:
  using PlainManager<CountingManager>::PlainManager;

  std::int32_t ref_count(std::int64_t block) const {
    PlainManager<CountingManager>::ref_count(block);
    return names_of(static_cast<id_type>(block));
  }
  bool shared(id_type id) const { return names_of(id) > 1; }

 private:
  std::int32_t names_of(id_type id) const {
    std::int32_t names = 0;
    for (const Row& row : rows_) {
      for (std::int64_t i = row.first; i < row.end(); ++i) names += row.at(i) == id;
    }
    return names;
  }
};

// Its Reader keeps the rows' address and the last row that it was asked for.
// right: a Reader of its own that remembers
class OwnReaderManager : public PlainManager<OwnReaderManager> {
 public:
  using PlainManager<OwnReaderManager>::PlainManager;

  class Reader {
   public:
    explicit Reader(const OwnReaderManager& manager) : manager_(manager) {}
    id_type lookup(std::int64_t seq, std::int64_t logical) const {
      if (seq != seq_) {
        row_ = &manager_.live(seq);
        seq_ = seq;
      }
      if (logical < row_->first || logical >= row_->end()) {
        blockmark::throw_not_in_table(seq, logical);
      }
      return row_->at(logical);
    }

   private:
    const OwnReaderManager& manager_;
    mutable const Row* row_ = nullptr;
    mutable std::int64_t seq_ = -1;
  };
};

// Free blocks wait in a queue, and a second list keeps all that ever came back.
// right: first in, first out, declared as unspecified; its bytes only grow
class GrowingQueueManager : public PlainManager<GrowingQueueManager> {
 public:
  static constexpr const char* reuse_order = "unspecified";

  using PlainManager<GrowingQueueManager>::PlainManager;
  void release(id_type id) {
    if (--refs_[static_cast<std::size_t>(id)] == 0) free_.insert(free_.begin(), id);
    given_.push_back(id);
  }
  std::int64_t pool_bytes() const {
    return PlainManager<GrowingQueueManager>::pool_bytes() +
           static_cast<std::int64_t>(given_.capacity() * sizeof(id_type));
  }

 private:
  std::vector<id_type> given_;
};

BLOCKMARK_MANAGER(ScratchManager);
BLOCKMARK_MANAGER(CountingManager);
BLOCKMARK_MANAGER(OwnReaderManager);
BLOCKMARK_MANAGER(GrowingQueueManager);

}  // namespace corpus
