// What the tests of `blockmark build` bring: each kind of class, right in every way.
#pragma once

#include <blockmark.hpp>

#include <cstdlib>
#include <vector>

#include "ref_counts.hpp"
#include "manager.hpp"
#include "pools/list.hpp"
#include "pools/stack.hpp"
#include "tables/flat.hpp"

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

BLOCKMARK_TABLE(SameTable);
BLOCKMARK_POOL(AllocatingPool);
BLOCKMARK_MANAGER(Whole);
BLOCKMARK_MANAGER(Readerless);
BLOCKMARK_POOL(BeyondPool);
BLOCKMARK_POOL(TwicePool);
BLOCKMARK_TABLE(CrashingTable);

}  // namespace brought
