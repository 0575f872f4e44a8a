// The mistake: a heap allocation in the hot loop. Every append makes a list of what it
// did (the blocks to copy), empty or not, and throws it away.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "right.hpp"

namespace blockmark {

class AllocatingManager : public RightManager {
 public:
  using RightManager::RightManager;

  template <class OnCopy>
  void append(std::int64_t seq, OnCopy&& on_copy) {
    std::vector<std::pair<std::int64_t, std::int64_t>> copies;
    copies.reserve(1);
    // The compiler may leave out an allocation that nobody sees.
    asm volatile("" : : "r"(copies.data()) : "memory");
    RightManager::append(
        seq, [&copies](std::int64_t src, std::int64_t dst) { copies.emplace_back(src, dst); });
    for (const auto& [src, dst] : copies) on_copy(src, dst);
  }
};

}  // namespace blockmark
