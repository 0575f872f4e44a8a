// What a user writes who has read the concepts and nothing else: a pool, a table and two
// managers with what each concept says, derived from nothing of the product.
#pragma once

#include <blockmark.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace scratch {

class SetPool {
 public:
  using id_type = std::int32_t;
  static constexpr char name[] = "set";
  static constexpr char reuse_order[] = "lowest";

  explicit SetPool(std::int64_t total_blocks) {
    for (std::int64_t id = 0; id < total_blocks; ++id) free_.insert(static_cast<id_type>(id));
  }

  std::size_t num_free() const { return free_.size(); }
  id_type take() {
    const id_type id = *free_.begin();
    free_.erase(free_.begin());
    return id;
  }
  void give(id_type id) { free_.insert(id); }
  std::size_t bytes() const { return free_.size() * 48; }

 protected:
  std::set<id_type> free_;
};

// Members that have a name of the product's and do something else.
class OwnNamesPool : public SetPool {
 public:
  using SetPool::SetPool;
  static constexpr char name[] = "own-names";

  bool open() const { return true; }
  std::vector<bool> free_words() const { return {}; }
  void each_free(void (*visit)(std::int64_t)) const {
    for (const id_type id : free_) visit(id);
  }
};

class MapTable {
 public:
  using id_type = std::uint64_t;
  static constexpr char name[] = "map";

  explicit MapTable(const blockmark::Sizes&) {}

  id_type get(std::int64_t seq, std::int64_t logical) const { return ids_.at({seq, logical}); }
  void begin(std::int64_t, std::int64_t, std::int64_t) {}
  void append(std::int64_t seq, std::int64_t logical, id_type id) { ids_[{seq, logical}] = id; }
  void replace(std::int64_t seq, std::int64_t logical, id_type id) { ids_.at({seq, logical}) = id; }
  void remove(std::int64_t seq, std::int64_t logical) { ids_.erase({seq, logical}); }
  void end(std::int64_t seq) {
    ids_.erase(ids_.lower_bound({seq, 0}), ids_.lower_bound({seq + 1, 0}));
  }
  std::size_t bytes() const { return ids_.size() * 64; }
  void open() const {}

 private:
  std::map<std::pair<std::int64_t, std::int64_t>, id_type> ids_;
};

// It knows a sequence's blocks by logical number and its length, and computes the rest.
class MapManager {
 public:
  using id_type = std::int32_t;
  static constexpr char name[] = "map";
  static constexpr char reuse_order[] = "lowest";

  explicit MapManager(const blockmark::Sizes& sizes) : sizes_(sizes) {
    for (std::int64_t id = 0; id < sizes.total_blocks; ++id) free_.insert(static_cast<id_type>(id));
  }

  blockmark::Sizes sizes() const { return sizes_; }
  int can_allocate(std::int64_t num_blocks) const {
    return num_blocks <= static_cast<std::int64_t>(free_.size()) ? 1 : 0;
  }

  void allocate(std::int64_t seq, std::int64_t num_tokens) {
    check_new(seq);
    if (num_tokens < 1) blockmark::throw_bad_tokens(num_tokens);
    const std::int64_t fresh = fresh_for(seq, 0, num_tokens);
    need(fresh);
    grow(tables_[seq], num_tokens, fresh);
  }

  template <class OnCopy>
  void append(std::int64_t seq, OnCopy on_copy) {
    extend(seq, 1, on_copy);
  }

  template <class OnCopy>
  void extend(std::int64_t seq, std::int64_t num_tokens, OnCopy& on_copy) {
    Table& table = live(seq);
    if (num_tokens < 0) blockmark::throw_bad_tokens(num_tokens);
    if (num_tokens == 0) return;
    const std::int64_t fresh = fresh_for(seq, table.tokens, num_tokens);
    id_type& last = table.blocks.rbegin()->second;
    const bool copies = table.tokens % sizes_.block_size != 0 && refs_.at(last) > 1;
    need(fresh + (copies ? 1 : 0));
    if (copies) {
      const id_type shared = last;
      --refs_.at(shared);
      last = take();
      on_copy(shared, last);
    }
    grow(table, num_tokens, fresh);
  }

  void truncate(std::int64_t seq, std::int64_t num_tokens) {
    Table& table = live(seq);
    if (num_tokens < 1 || num_tokens > table.tokens ||
        blocks_for(num_tokens) <= table.blocks.begin()->first) {
      blockmark::throw_bad_truncate(seq, num_tokens);
    }
    while (table.blocks.rbegin()->first >= blocks_for(num_tokens)) {
      give(table.blocks.rbegin()->second);
      table.blocks.erase(std::prev(table.blocks.end()));
    }
    table.tokens = num_tokens;
  }

  void drop_front(std::int64_t seq, std::int64_t num_blocks) {
    Table& table = live(seq);
    if (num_blocks < 0 || num_blocks >= blocks_for(table.tokens)) {
      blockmark::throw_bad_drop(seq, num_blocks);
    }
    while (table.blocks.begin()->first < num_blocks) {
      give(table.blocks.begin()->second);
      table.blocks.erase(table.blocks.begin());
    }
  }

  void fork(std::int64_t parent, std::int64_t child) {
    const Table& from = live(parent);
    check_new(child);
    for (const auto& [logical, id] : from.blocks) ++refs_.at(id);
    tables_.emplace(child, from);
  }

  void fork(std::int64_t parent, std::int64_t child, std::int64_t num_blocks) {
    const Table& from = live(parent);
    check_new(child);
    if (num_blocks < 1 || num_blocks > from.tokens / sizes_.block_size ||
        num_blocks <= from.blocks.begin()->first) {
      blockmark::throw_bad_prefix(parent, num_blocks);
    }
    Table to{{from.blocks.begin(), from.blocks.lower_bound(num_blocks)},
             num_blocks * sizes_.block_size};
    for (const auto& [logical, id] : to.blocks) ++refs_.at(id);
    tables_.emplace(child, to);
  }

  void free(std::int64_t seq) {
    for (const auto& [logical, id] : live(seq).blocks) give(id);
    tables_.erase(seq);
  }

  id_type lookup(std::int64_t seq, std::int64_t logical) const {
    const Table& table = live(seq);
    const auto found = table.blocks.find(logical);
    if (found == table.blocks.end()) blockmark::throw_not_in_table(seq, logical);
    return found->second;
  }

  long ref_count(std::int64_t block) const {
    if (block < 0 || block >= sizes_.total_blocks) blockmark::throw_value("no such block");
    const auto found = refs_.find(static_cast<id_type>(block));
    return found == refs_.end() ? 0 : found->second;
  }
  std::size_t num_free() const { return free_.size(); }
  int num_tokens(std::int64_t seq) const { return static_cast<int>(live(seq).tokens); }
  blockmark::Sequence sequence(std::int64_t seq) const {
    const Table& table = live(seq);
    const std::int64_t end = blocks_for(table.tokens);
    return {static_cast<std::int32_t>(table.blocks.begin()->first), static_cast<std::int32_t>(end),
            static_cast<std::int32_t>(end * sizes_.block_size - table.tokens)};
  }

  void write_block_tables(const std::int32_t* seqs, std::int64_t count, std::int32_t* out,
                          std::int64_t width, std::int32_t* lengths) const {
    for (std::int64_t row = 0; row < count; ++row, out += width) {
      const Table& table = live(seqs[row]);
      const std::int64_t end = blocks_for(table.tokens);
      if (end > width) blockmark::throw_row_too_wide(seqs[row], end, width);
      for (std::int64_t i = 0; i < width; ++i) out[i] = 0;
      for (const auto& [logical, id] : table.blocks) out[logical] = id;
      lengths[row] = static_cast<std::int32_t>(end);
    }
  }

  std::size_t table_bytes() const { return tables_.size() * 96; }
  std::size_t pool_bytes() const { return free_.size() * 48; }

 protected:
  struct Table {
    std::map<std::int64_t, id_type> blocks;  // by logical number, dropped ones erased
    std::int64_t tokens = 0;
  };

  const Table& live(std::int64_t seq) const {
    const auto found = tables_.find(seq);
    if (found == tables_.end()) blockmark::throw_unknown_sequence(seq);
    return found->second;
  }
  Table& live(std::int64_t seq) {
    const auto found = tables_.find(seq);
    if (found == tables_.end()) blockmark::throw_unknown_sequence(seq);
    return found->second;
  }

 private:
  void check_new(std::int64_t seq) const {
    if (seq < 0 || seq >= sizes_.max_seqs) blockmark::throw_no_such_slot(seq, sizes_.max_seqs);
    if (tables_.contains(seq)) blockmark::throw_sequence_exists(seq);
  }
  std::int64_t blocks_for(std::int64_t num_tokens) const {
    return (num_tokens - 1) / sizes_.block_size + 1;
  }
  std::int64_t fresh_for(std::int64_t seq, std::int64_t tokens, std::int64_t more) const {
    if (more > sizes_.max_blocks_per_seq * sizes_.block_size - tokens) {
      blockmark::throw_too_long(seq, sizes_.max_blocks_per_seq);
    }
    return blocks_for(tokens + more) - (tokens == 0 ? 0 : blocks_for(tokens));
  }
  void need(std::int64_t blocks) const {
    if (can_allocate(blocks) == 0) {
      blockmark::throw_out_of_blocks(blocks, static_cast<std::int64_t>(free_.size()));
    }
  }
  void grow(Table& table, std::int64_t num_tokens, std::int64_t fresh) {
    std::int64_t logical = table.tokens == 0 ? 0 : blocks_for(table.tokens);
    for (std::int64_t i = 0; i < fresh; ++i) table.blocks[logical++] = take();
    table.tokens += num_tokens;
  }
  id_type take() {
    const id_type id = *free_.begin();
    free_.erase(free_.begin());
    refs_[id] = 1;
    return id;
  }
  void give(id_type id) {
    if (--refs_.at(id) == 0) free_.insert(id);
  }

  blockmark::Sizes sizes_;
  std::map<std::int64_t, Table> tables_;
  std::map<id_type, int> refs_;
  std::set<id_type> free_;
};

// With a Reader of its own, and with on_copy in the one type that it takes.
class ReadingManager : public MapManager {
 public:
  using MapManager::MapManager;
  using Told = std::function<void(std::int64_t, std::int64_t)>;
  static constexpr char name[] = "reading";

  void append(std::int64_t seq, const Told& on_copy) { MapManager::extend(seq, 1, on_copy); }
  void extend(std::int64_t seq, std::int64_t num_tokens, Told on_copy) {
    MapManager::extend(seq, num_tokens, on_copy);
  }

  class Reader {
   public:
    explicit Reader(const ReadingManager& manager) : manager_(&manager) {}

    id_type lookup(std::int64_t seq, std::int64_t logical) const {
      const auto& blocks = manager_->live(seq).blocks;
      const auto found = blocks.find(logical);
      if (found == blocks.end()) blockmark::throw_not_in_table(seq, logical);
      return found->second;
    }

   private:
    const ReadingManager* manager_;
  };
};

BLOCKMARK_POOL(SetPool);
BLOCKMARK_POOL(OwnNamesPool);
BLOCKMARK_TABLE(MapTable);
BLOCKMARK_MANAGER(MapManager);
BLOCKMARK_MANAGER(ReadingManager);

}  // namespace scratch
