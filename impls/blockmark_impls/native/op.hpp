// Operation codes. The numbers are those of blockmark/workload/program.py.
#pragma once

#include <cstdint>
#include <initializer_list>

namespace blockmark {

enum class Op : std::uint8_t {
  can_allocate = 0,   // a = blocks
  allocate = 1,       // a = seq, b = tokens
  append = 2,         // a = seq
  extend = 3,         // a = seq, b = tokens
  truncate = 4,       // a = seq, b = tokens
  drop_front = 5,     // a = seq, b = blocks
  fork = 6,           // a = parent, b = child, c = blocks (0: the whole table)
  free = 7,           // a = seq
  lookup = 8,         // a = seq, b = logical block
  lookup_chain = 9,   // the same, the address made to depend on the last answer
  pack = 10,          // a = seq; a whole run is one write_block_tables call
  take = 11,          // a = handle, b = blocks
  give = 12,          // a = handle
  remove = 13,        // a = handle, b = blocks: those that it held last, out of the free ones
  find = 14,          // a = blocks side by side, b = free blocks: how much there is to look at
  compact = 15,       // a = blocks at the top of the pool that are to be free, b = free blocks
};

inline constexpr int num_ops = 16;

constexpr const char* op_name(Op op) {
  constexpr const char* names[num_ops] = {"CAN_ALLOCATE", "ALLOCATE", "APPEND",       "EXTEND",
                                          "TRUNCATE",     "DROP_FRONT", "FORK",       "FREE",
                                          "LOOKUP",       "LOOKUP_CHAIN", "PACK",     "TAKE",
                                          "GIVE",         "REMOVE",     "FIND",     "COMPACT"};
  return names[static_cast<int>(op)];
}

// A set of operations: what a program holds, or what a target of a replay serves.
class OpSet {
 public:
  constexpr OpSet() = default;
  constexpr OpSet(std::initializer_list<Op> ops) {
    for (Op op : ops) add(op);
  }
  constexpr void add(Op op) { bits_ |= 1u << static_cast<int>(op); }
  constexpr bool has(Op op) const { return (bits_ >> static_cast<int>(op) & 1u) != 0; }

 private:
  std::uint32_t bits_ = 0;
};

inline constexpr OpSet manager_ops{Op::can_allocate, Op::allocate, Op::append, Op::extend,
                                   Op::truncate,     Op::drop_front, Op::fork, Op::free,
                                   Op::lookup,       Op::lookup_chain, Op::pack};
inline constexpr OpSet pool_ops{Op::take, Op::give};

}  // namespace blockmark
