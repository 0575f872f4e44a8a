// Whole managers that are each wrong in one way.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "blockmark.hpp"
#include "plain_manager.hpp"

namespace corpus {

// An append that finds no free block has counted its token already.
// fault: exhaustion changes state
class CountsBeforeTakingManager : public PlainManager<CountsBeforeTakingManager> {
 public:
  using PlainManager<CountsBeforeTakingManager>::PlainManager;
  template <class OnCopy>
  void append(std::int64_t seq, OnCopy&& on_copy) {
    Row& row = live(seq);
    const bool grows = row.room == 0 && row.end() < sizes_.max_blocks_per_seq;
    if (grows && num_free() == 0) --row.room;
    PlainManager<CountsBeforeTakingManager>::append(seq, on_copy);
  }
};

// Ref counts have 8 bits, and wrap round at 256 sequences.
// fault: ref count
class ByteRefsManager : public PlainManager<ByteRefsManager, std::uint8_t> {
 public:
  using PlainManager<ByteRefsManager, std::uint8_t>::PlainManager;
};

// The slots left in a block are found by a shift, as if block sizes were powers of two.
// fault: rounding
class ShiftedRoomManager : public PlainManager<ShiftedRoomManager> {
 public:
  using PlainManager<ShiftedRoomManager>::PlainManager;
  std::int64_t room_of(std::int64_t blocks, std::int64_t tokens) const {
    const auto size = static_cast<std::uint64_t>(sizes_.block_size);
    return (blocks << std::countr_zero(std::bit_ceil(size))) - tokens;
  }
};

// A fork of a prefix raises the ref count of the block behind the prefix too.
// fault: fork prefix
class SharesOneMoreManager : public PlainManager<SharesOneMoreManager> {
 public:
  using PlainManager<SharesOneMoreManager>::PlainManager;
  void fork(std::int64_t parent, std::int64_t child) {
    PlainManager<SharesOneMoreManager>::fork(parent, child);
  }
  void fork(std::int64_t parent, std::int64_t child, std::int64_t blocks) {
    PlainManager<SharesOneMoreManager>::fork(parent, child, blocks);
    if (blocks < row(parent).end()) ++refs_[static_cast<std::size_t>(row(parent).at(blocks))];
  }
};

// The child of a parent whose front was dropped has the dropped blocks in its table.
// fault: fork prefix
class ForgetsDroppedManager : public PlainManager<ForgetsDroppedManager> {
 public:
  using PlainManager<ForgetsDroppedManager>::PlainManager;
  void fork(std::int64_t parent, std::int64_t child) {
    PlainManager<ForgetsDroppedManager>::fork(parent, child);
    Row& to = live(child);
    for (; to.first > 0; --to.first) ++refs_[static_cast<std::size_t>(to.at(to.first - 1))];
  }
  void fork(std::int64_t parent, std::int64_t child, std::int64_t blocks) {
    PlainManager<ForgetsDroppedManager>::fork(parent, child, blocks);
  }
};

// A truncation that leaves whole pages of 64 blocks keeps a name on the block behind them.
// fault: truncate
class PageEndManager : public PlainManager<PageEndManager> {
 public:
  using PlainManager<PageEndManager>::PlainManager;
  void truncate(std::int64_t seq, std::int64_t tokens) {
    const Row& row = live(seq);
    const std::int64_t blocks = tokens < 1 ? 0 : blocks_for(tokens);
    const id_type behind = blocks < row.end() ? row.at(blocks) : 0;
    const bool at_end = blocks % 64 == 0 && blocks > row.first && blocks < row.end();
    PlainManager<PageEndManager>::truncate(seq, tokens);
    if (at_end) keep(behind);
  }

 private:
  // The block that went back last; it has a name again.
  void keep(id_type id) {
    if (refs_[static_cast<std::size_t>(id)]++ == 0) free_.pop_back();
  }
};

// A dropped front that ends where a page of 64 blocks ends takes the next block with it.
// fault: drop_front
class PageStartManager : public PlainManager<PageStartManager> {
 public:
  using PlainManager<PageStartManager>::PlainManager;
  void drop_front(std::int64_t seq, std::int64_t blocks) {
    const bool drops = blocks > live(seq).first;
    PlainManager<PageStartManager>::drop_front(seq, blocks);
    if (drops && blocks % 64 == 0) release(row(seq).at(blocks));
  }
};

// A block that was shared once is copied for ever after, whoever names it now.
// fault: copy-on-write
class OnceSharedManager : public PlainManager<OnceSharedManager> {
 public:
  explicit OnceSharedManager(const blockmark::Sizes& sizes)
      : PlainManager<OnceSharedManager>(sizes),
        once_(static_cast<std::size_t>(sizes.total_blocks), false) {}
  bool shared(id_type id) const {
    if (refs_[static_cast<std::size_t>(id)] > 1) once_[static_cast<std::size_t>(id)] = true;
    return once_[static_cast<std::size_t>(id)];
  }

 private:
  mutable std::vector<bool> once_;
};

// Blocks of a sequence that ends go back from the last one forward.
// fault: reuse order
class BackwardsFreeManager : public PlainManager<BackwardsFreeManager> {
 public:
  using PlainManager<BackwardsFreeManager>::PlainManager;
  void free(std::int64_t seq) {
    Row& row = live(seq);
    for (std::int64_t i = row.end(); i-- > row.first;) release(row.at(i));
    row = Row{};
  }
};

// Blocks behind a truncation go back from the first one on.
// fault: reuse order
class ForwardTruncateManager : public PlainManager<ForwardTruncateManager> {
 public:
  using PlainManager<ForwardTruncateManager>::PlainManager;
  void truncate(std::int64_t seq, std::int64_t tokens) {
    const std::vector<id_type> blocks = live(seq).blocks;
    const std::vector<id_type> free_before = free_;
    PlainManager<ForwardTruncateManager>::truncate(seq, tokens);
    free_ = free_before;
    for (std::size_t i = live(seq).blocks.size(); i < blocks.size(); ++i) {
      if (refs_[static_cast<std::size_t>(blocks[i])] == 0) free_.push_back(blocks[i]);
    }
  }
};

BLOCKMARK_MANAGER(CountsBeforeTakingManager);
BLOCKMARK_MANAGER(ByteRefsManager);
BLOCKMARK_MANAGER(ShiftedRoomManager);
BLOCKMARK_MANAGER(SharesOneMoreManager);
BLOCKMARK_MANAGER(ForgetsDroppedManager);
BLOCKMARK_MANAGER(PageEndManager);
BLOCKMARK_MANAGER(PageStartManager);
BLOCKMARK_MANAGER(OnceSharedManager);
BLOCKMARK_MANAGER(BackwardsFreeManager);
BLOCKMARK_MANAGER(ForwardTruncateManager);

}  // namespace corpus
