// What a loop over lookups opens before it begins: Readers of managers, open() of tables and
// pools. The single calls beside them are right.
#pragma once

#include <cstdint>
#include <vector>

#include "blockmark.hpp"
#include "plain_manager.hpp"
#include "plain_rows.hpp"

namespace corpus {

// A Reader reads once, and gives its first answer ever after.
// fault: reader
class FirstAnswerManager : public PlainManager<FirstAnswerManager> {
 public:
  using PlainManager<FirstAnswerManager>::PlainManager;

  class Reader {
   public:
    explicit Reader(const FirstAnswerManager& manager) : manager_(manager) {}
    id_type lookup(std::int64_t seq, std::int64_t logical) const {
      if (first_ < 0) first_ = manager_.lookup(seq, logical);
      return first_;
    }

   private:
    const FirstAnswerManager& manager_;
    mutable id_type first_ = -1;
  };
};

// A Reader keeps the row of the last sequence, and asks for another only at its first block.
// fault: reader
class LastRowManager : public PlainManager<LastRowManager> {
 public:
  using PlainManager<LastRowManager>::PlainManager;

  class Reader {
   public:
    explicit Reader(const LastRowManager& manager) : manager_(manager) {}
    id_type lookup(std::int64_t seq, std::int64_t logical) const {
      const id_type right = manager_.lookup(seq, logical);
      if (row_ == nullptr || logical == row_->first) row_ = &manager_.row(seq);
      return logical < row_->end() ? row_->at(logical) : right;
    }

   private:
    const LastRowManager& manager_;
    mutable const Row* row_ = nullptr;
  };
};

// A Reader does not look whether the sequence exists: block 0 is its answer for any other.
// fault: reader
class UncheckedReaderManager : public PlainManager<UncheckedReaderManager> {
 public:
  using PlainManager<UncheckedReaderManager>::PlainManager;

  class Reader {
   public:
    explicit Reader(const UncheckedReaderManager& manager) : manager_(manager) {}
    id_type lookup(std::int64_t seq, std::int64_t logical) const {
      const bool there = manager_.is_slot(seq) && logical >= 0 && logical < manager_.row(seq).end();
      return there ? manager_.row(seq).at(logical) : 0;
    }

   private:
    const UncheckedReaderManager& manager_;
  };
};

// A Reader answers with the block that stood there before it was copied.
// fault: reader
class BeforeCopyManager : public PlainManager<BeforeCopyManager> {
 public:
  explicit BeforeCopyManager(const blockmark::Sizes& sizes)
      : PlainManager<BeforeCopyManager>(sizes),
        source_(static_cast<std::size_t>(sizes.total_blocks), -1) {}
  template <class OnCopy>
  void append(std::int64_t seq, OnCopy&& on_copy) {
    extend(seq, 1, on_copy);
  }
  template <class OnCopy>
  void extend(std::int64_t seq, std::int64_t tokens, OnCopy&& on_copy) {
    PlainManager<BeforeCopyManager>::extend(seq, tokens, [&](std::int64_t src, std::int64_t dst) {
      source_[static_cast<std::size_t>(dst)] = static_cast<id_type>(src);
      on_copy(src, dst);
    });
  }

  class Reader {
   public:
    explicit Reader(const BeforeCopyManager& manager) : manager_(manager) {}
    id_type lookup(std::int64_t seq, std::int64_t logical) const {
      const id_type now = manager_.lookup(seq, logical);
      const id_type before = manager_.source_[static_cast<std::size_t>(now)];
      return before < 0 ? now : before;
    }

   private:
    const BeforeCopyManager& manager_;
  };

 private:
  std::vector<id_type> source_;
};

// The opened table is a copy, made when a sequence last began.
// fault: opened
class SnapshotTable : public PlainRows {
 public:
  using PlainRows::PlainRows;

  struct Open {
    const Rows* rows;
    id_type get(std::int64_t seq, std::int64_t logical) const {
      return (*rows)[static_cast<std::size_t>(seq)][static_cast<std::size_t>(logical)];
    }
  };
  Open open() const {
    if (!fresh_) {
      copy_ = rows_;
      fresh_ = true;
    }
    return {&copy_};
  }
  void begin(std::int64_t, std::int64_t, std::int64_t) { fresh_ = false; }

 private:
  mutable Rows copy_;
  mutable bool fresh_ = false;
};

// A stack whose opened object writes its top back only where `Self` says so.
template <class Self>
class OpenedStack {
 public:
  using id_type = std::int32_t;
  static constexpr const char* name = "opened-stack";
  static constexpr const char* reuse_order = "LIFO";

  explicit OpenedStack(std::int64_t total_blocks)
      : ids_(static_cast<std::size_t>(total_blocks)), top_(ids_.size()) {
    for (std::size_t i = 0; i < top_; ++i) ids_[i] = static_cast<id_type>(top_ - 1 - i);
  }
  std::int64_t num_free() const { return static_cast<std::int64_t>(top_); }
  id_type take() { return ids_[--top_]; }
  void give(id_type id) { ids_[top_++] = id; }
  std::int64_t bytes() const { return static_cast<std::int64_t>(ids_.size() * sizeof(id_type)); }

  class Open {
   public:
    explicit Open(OpenedStack& pool) : pool_(pool), top_(pool.top_) {}
    Open(const Open&) = delete;
    Open& operator=(const Open&) = delete;
    ~Open() {
      if (Self::writes_back(taken_)) pool_.top_ = top_;
    }
    id_type take() {
      ++taken_;
      return pool_.ids_[--top_];
    }
    void give(id_type id) { pool_.ids_[top_++] = id; }

   private:
    OpenedStack& pool_;
    std::size_t top_;
    std::int64_t taken_ = 0;
  };
  Open open() { return Open(*this); }

 private:
  std::vector<id_type> ids_;
  std::size_t top_;
};

// An opened stack from which nothing was taken is left as it was, whatever was given.
// fault: opened
class WritesTakesPool : public OpenedStack<WritesTakesPool> {
 public:
  using OpenedStack<WritesTakesPool>::OpenedStack;
  static bool writes_back(std::int64_t taken) { return taken > 0; }
};

// An opened stack from which exactly 64 blocks were taken is left as it was.
// fault: opened
class SixtyFourTakesPool : public OpenedStack<SixtyFourTakesPool> {
 public:
  using OpenedStack<SixtyFourTakesPool>::OpenedStack;
  static bool writes_back(std::int64_t taken) { return taken != 64; }
};

BLOCKMARK_MANAGER(FirstAnswerManager);
BLOCKMARK_MANAGER(LastRowManager);
BLOCKMARK_MANAGER(UncheckedReaderManager);
BLOCKMARK_MANAGER(BeforeCopyManager);
BLOCKMARK_TABLE(SnapshotTable);
BLOCKMARK_POOL(WritesTakesPool);
BLOCKMARK_POOL(SixtyFourTakesPool);

}  // namespace corpus
