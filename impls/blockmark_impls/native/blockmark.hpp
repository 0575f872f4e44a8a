// What a header of your own includes, and the line by which it offers a class:
//
//   BLOCKMARK_POOL(MyPool);        measured alone, and as the pool of the flat table
//   BLOCKMARK_TABLE(MyTable);      composed with the stack pool and the array of ref counts
//   BLOCKMARK_MANAGER(MyManager);  a manager as it is
//
// The concepts FreePool and BlockTable (contract.hpp) and WholeManager (whole_manager.hpp)
// say what each must have. `blockmark build my_pool.hpp` compiles what is offered into a
// module whose loops are those of the built-in structures. In any other compilation a
// line is no more than a check of the concept, so that the header can stay in an engine.
#pragma once

#include "aligned_array.hpp"
#include "contract.hpp"
#include "whole_manager.hpp"

// The name of an offer is its class's; two lines in one place of a file would clash.
#define BLOCKMARK_JOIN_(a, b) a##b
#define BLOCKMARK_JOIN(a, b) BLOCKMARK_JOIN_(a, b)

#ifdef BLOCKMARK_BUILD
#define BLOCKMARK_OFFER(offer, concept_, ...)                                              \
  static_assert(::blockmark::concept_<__VA_ARGS__>, #__VA_ARGS__ " is not a " #concept_); \
  [[maybe_unused]] static const bool BLOCKMARK_JOIN(blockmark_offer_, __LINE__) =         \
      ::blockmark::offer<__VA_ARGS__>(#__VA_ARGS__)
#else
#define BLOCKMARK_OFFER(offer, concept_, ...) \
  static_assert(::blockmark::concept_<__VA_ARGS__>, #__VA_ARGS__ " is not a " #concept_)
#endif

#define BLOCKMARK_POOL(...) BLOCKMARK_OFFER(offer_pool, FreePool, __VA_ARGS__)
#define BLOCKMARK_TABLE(...) BLOCKMARK_OFFER(offer_table, BlockTable, __VA_ARGS__)
#define BLOCKMARK_MANAGER(...) BLOCKMARK_OFFER(offer_manager, WholeManager, __VA_ARGS__)
