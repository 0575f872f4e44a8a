// What the tests of `blockmark build` bring: each kind of class, right in every way.
#pragma once

#include <blockmark.hpp>

#include <cstdlib>
#include <new>
#include <vector>

#include "ref_counts.hpp"
#include "manager.hpp"
#include "pools/list.hpp"
#include "pools/stack.hpp"
#include "tables/flat.hpp"
#include "tables/hash.hpp"
#include "tables/two_level.hpp"

namespace brought {

// The very code of flat + stack: its costs must be those of the built-in one.
struct SameTable : blockmark::FlatTable<std::uint16_t> {
  using FlatTable::FlatTable;
  static constexpr const char* name = "same";
};

// The list pool, with one request to the heap for every block that is taken.
struct AllocatingPool : blockmark::ListPool<std::int32_t> {
  using ListPool::ListPool;
  static constexpr const char* name = "allocating";

  id_type take() {
    void* memory = std::malloc(16);
    asm volatile("" : "+r"(memory));
    std::free(memory);
    return ListPool::take();
  }
};

struct Whole : blockmark::Manager<blockmark::FlatTable<std::uint32_t>,
                                  blockmark::StackPool<std::uint32_t>,
                                  blockmark::ArrayRefCounts> {
  using Manager::Manager;
  static constexpr const char* name = "whole";
  static constexpr const char* reuse_order = "LIFO";
};

// Without a Reader of its own that could be used: lookups go through lookup().
struct Readerless : Whole {
  using Whole::Whole;
  static constexpr const char* name = "readerless";

 private:
  struct Reader;
};

// Faults: each ends as a status of its own cell.
struct BeyondPool : blockmark::StackPool<std::uint16_t> {
  using StackPool::StackPool;
  static constexpr const char* name = "beyond";
  id_type take() { return static_cast<id_type>(StackPool::take() + 1); }
};

struct TwicePool : blockmark::StackPool<std::uint16_t> {
  using StackPool::StackPool;
  static constexpr const char* name = "twice";
  id_type take() {
    const id_type id = StackPool::take();
    return id == 3 ? 2 : id;
  }
};

struct CrashingTable : blockmark::FlatTable<std::uint16_t> {
  using FlatTable::FlatTable;
  static constexpr const char* name = "crashing";
  void end(std::int64_t) { std::abort(); }
};

// Faults as well: tables that meet the end of the heap: by pages and block by block. One that throws is as
// before the call.
struct ShortOfHeap {
  // The blocks that sequence 0 may have, and any other.
  static constexpr std::int64_t most[2] = {64, 5};
  static void ask(std::int64_t seq, std::int64_t end) {
    if (end > most[seq != 0]) throw std::bad_alloc();
  }
};

struct ShortRows : blockmark::TwoLevelTable<std::uint16_t, 4> {
  using TwoLevelTable::TwoLevelTable;
  static constexpr const char* name = "short-rows";
  void append(std::int64_t seq, std::int64_t logical, id_type id) { *place(seq, logical, 1) = id; }
  id_type* place(std::int64_t seq, std::int64_t logical, std::int64_t count) {
    ShortOfHeap::ask(seq, logical + count);
    return TwoLevelTable::place(seq, logical, count);
  }
};

struct ShortMap : blockmark::HashTable {
  using HashTable::HashTable;
  static constexpr const char* name = "short-map";
  void append(std::int64_t seq, std::int64_t logical, id_type id) {
    ShortOfHeap::ask(seq, logical + 1);
    HashTable::append(seq, logical, id);
  }
};

BLOCKMARK_TABLE(SameTable);
BLOCKMARK_TABLE(ShortRows);
BLOCKMARK_TABLE(ShortMap);
BLOCKMARK_POOL(AllocatingPool);
BLOCKMARK_MANAGER(Whole);
BLOCKMARK_MANAGER(Readerless);
BLOCKMARK_POOL(BeyondPool);
BLOCKMARK_POOL(TwicePool);
BLOCKMARK_TABLE(CrashingTable);

}  // namespace brought
