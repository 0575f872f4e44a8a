#include "count_loop.hpp"

#include <array>
#include <numeric>

#include "contract.hpp"

namespace blockmark {

namespace {

constexpr std::size_t entries = 256;

constexpr std::array<std::uint64_t, entries> table = [] {
  std::array<std::uint64_t, entries> numbers{};
  std::iota(numbers.begin(), numbers.end(), std::uint64_t{0});
  return numbers;
}();

}  // namespace

[[gnu::noinline]] std::uint64_t count_loop(std::int64_t iterations) {
  if (iterations < 0) {
    throw_value("iterations must not be negative, as " + std::to_string(iterations) + " is");
  }
  // Volatile: every load is made, one at a time, and the sum cannot be worked out ahead.
  const volatile std::uint64_t* const numbers = table.data();
  std::uint64_t sum = 0;
  for (std::int64_t i = 0; i < iterations; ++i) {
    sum += numbers[static_cast<std::size_t>(i) % entries];
  }
  return sum;
}

}  // namespace blockmark
