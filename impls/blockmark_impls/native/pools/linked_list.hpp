// An intrusive doubly linked list (FIFO): a node for every block, preallocated; blocks are
// taken from the head and given to the tail, and any one leaves the middle in O(1).
//
// The pool lru (lru.hpp) is the same list with its links in two arrays. Here both links of a
// block lie side by side, so that unlinking touches one line where lru touches two; and a
// node can be as large as an object: 64 bytes a block is what an engine has that keeps an
// object for each, with its links among other fields. Which of the two layouts costs less
// is a question to measure, so both stay.
#pragma once

#include <cstdint>
#include <limits>
#include <string>

#include "../aligned_array.hpp"
#include "../contract.hpp"

namespace blockmark {

// The rest of a large node is what else an engine keeps there; nothing here reads it.
template <std::int64_t node_bytes>
struct alignas(node_bytes) ListNode {
  std::int32_t next;
  std::int32_t prev;
};

template <std::int64_t node_bytes>
class LinkedList {
 public:
  using id_type = std::int32_t;
  static constexpr const char* name = node_bytes == 8 ? "linked-list" : "linked-list-64";
  static constexpr const char* reuse_order = "FIFO";

  // The sentinel is one node more, so that no end is a special case.
  explicit LinkedList(std::int64_t total_blocks)
      : nodes_(checked(total_blocks) + 1, Node{}),
        sentinel_(static_cast<std::int32_t>(total_blocks)),
        num_free_(total_blocks) {
    for (std::int32_t id = 0; id <= sentinel_; ++id) {
      nodes_[id].next = id == sentinel_ ? 0 : id + 1;
      nodes_[id].prev = id == 0 ? sentinel_ : id - 1;
    }
  }

  std::int64_t num_free() const { return num_free_; }
  std::int32_t take() {
    const std::int32_t id = nodes_[sentinel_].next;
    remove(id);
    return id;
  }
  void give(std::int32_t id) {
    Node& end = nodes_[sentinel_];
    nodes_[id].next = sentinel_;
    nodes_[id].prev = end.prev;
    nodes_[end.prev].next = id;
    end.prev = id;
    ++num_free_;
  }

  // As many from the head, with one cut: what is taken keeps no links but its mark.
  void take(std::int64_t k, std::int32_t* out) {
    if (k == 0) return;
    std::int32_t id = nodes_[sentinel_].next;
    for (std::int64_t i = 0; i < k; ++i) {
      out[i] = id;
      const std::int32_t after = nodes_[id].next;
      nodes_[id].next = taken;
      id = after;
    }
    nodes_[sentinel_].next = id;
    nodes_[id].prev = sentinel_;
    num_free_ -= k;
  }
  // Linked among themselves, then to the tail at once.
  void give(const std::int32_t* ids, std::int64_t k) {
    std::int32_t last = nodes_[sentinel_].prev;
    for (std::int64_t i = 0; i < k; ++i) {
      nodes_[last].next = ids[i];
      nodes_[ids[i]].prev = last;
      last = ids[i];
    }
    nodes_[last].next = sentinel_;
    nodes_[sentinel_].prev = last;
    num_free_ += k;
  }

  bool is_free(std::int64_t id) const {
    return id >= 0 && id < sentinel_ && nodes_[id].next != taken;
  }
  // A block out of the middle; it must be free.
  void remove(std::int32_t id) {
    Node& node = nodes_[id];
    nodes_[node.prev].next = node.next;
    nodes_[node.next].prev = node.prev;
    node.next = taken;
    --num_free_;
  }
  template <class Visit>
  void each_free(Visit&& visit) const {
    for (std::int32_t id = nodes_[sentinel_].next; id != sentinel_; id = nodes_[id].next) visit(id);
  }
  std::int64_t bytes() const { return nodes_.bytes(); }

 private:
  using Node = ListNode<node_bytes>;
  static_assert(sizeof(Node) == node_bytes);
  static constexpr std::int32_t taken = -1;

  static std::int64_t checked(std::int64_t total_blocks) {
    constexpr std::int64_t limit = std::numeric_limits<std::int32_t>::max() - 1;
    if (total_blocks > limit) {
      throw_value(std::to_string(total_blocks) + " blocks are more than the pool " + name +
                  " can link (" + std::to_string(limit) + ")");
    }
    return total_blocks;
  }

  AlignedArray<Node> nodes_;
  std::int32_t sentinel_;
  std::int64_t num_free_;
};

// The links are int32 whatever the table stores.
template <std::integral>
using LinkedListPool = LinkedList<8>;
template <std::integral>
using WideLinkedListPool = LinkedList<64>;

static_assert(FreePool<LinkedList<8>> && BatchPool<LinkedList<8>>);

}  // namespace blockmark
