// Which edges of a header's code ran, as AFL counts them: for a search that is guided by them.
//
// The header's unit is compiled with -fsanitize-coverage=trace-pc, by which every basic block
// calls __sanitizer_cov_trace_pc; this file is not. It uses nothing of the standard library,
// of which the linker might take the header's copy, and so count what reads the counts.
#include <nanobind/nanobind.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "bindings/bind_coverage.hpp"

namespace blockmark {

namespace {

constexpr std::size_t num_edges = std::size_t{1} << 16;

// Calls come under the interpreter's lock; a header that starts threads has inexact counts.
alignas(64) std::uint8_t counts[num_edges];
std::uint32_t found[num_edges];
std::uintptr_t previous = 0;

void clear() {
  std::memset(counts, 0, sizeof counts);
  previous = 0;
}

// 0 to 7 for a count of 1, 2, 3, 4 to 7, 8 to 15, 16 to 31, 32 to 127, 128 and more.
std::uint32_t bucket(std::uint32_t count) {
  if (count < 4) return count - 1;
  if (count < 8) return 3;
  if (count < 16) return 4;
  if (count < 32) return 5;
  return count < 128 ? 6 : 7;
}

// For each edge that ran a uint32: its number times 8, and its bucket.
nb::bytes edges() {
  std::size_t size = 0;
  for (std::size_t i = 0; i < num_edges; i += sizeof(std::uint64_t)) {
    std::uint64_t eight;
    std::memcpy(&eight, counts + i, sizeof eight);
    if (eight == 0) continue;
    for (std::size_t edge = i; edge < i + sizeof eight; ++edge) {
      if (counts[edge] == 0) continue;
      found[size++] = static_cast<std::uint32_t>(edge << 3) | bucket(counts[edge]);
    }
  }
  return nb::bytes(found, size * sizeof found[0]);
}

}  // namespace

void bind_coverage(nb::module_& m) {
  m.def("coverage_clear", &clear);
  m.def("coverage_edges", &edges);
}

}  // namespace blockmark

// Locations are told by their distance from the counts, which lie in the same module: the same
// in every process that loads it, wherever that is.
extern "C" void __sanitizer_cov_trace_pc() {
  using namespace blockmark;
  const auto location = reinterpret_cast<std::uintptr_t>(__builtin_return_address(0)) -
                        reinterpret_cast<std::uintptr_t>(counts);
  // Two odd multipliers, so that an edge and its reverse differ; the upper bits depend on all.
  const std::uint64_t mixed =
      (previous * 0x9E3779B97F4A7C15u + location) * 0xD1B54A32D192ED03u;
  std::uint8_t& count = counts[mixed >> 48];
  if (count != 255) ++count;
  previous = location;
}
