#include "conditions.hpp"

#include <cstdlib>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

#include "clock.hpp"
#include "contract.hpp"

namespace blockmark {

namespace {

// std::shuffle leaves its draws to the library; a written-out one gives every library
// the same order.
template <class T>
void shuffle(std::vector<T>& items, std::mt19937_64& random) {
  for (std::size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[random() % i]);
}

constexpr std::int64_t words_per_line = cache_line / sizeof(std::uint64_t);

std::int64_t words_for(std::int64_t bytes) {
  if (bytes < 1) throw_value("bytes must be at least 1, not " + std::to_string(bytes));
  return (bytes - 1) / static_cast<std::int64_t>(cache_line) * words_per_line + words_per_line;
}

// Blocks that stay, reachable from here so that no leak checker reports them.
std::vector<void*>& kept_blocks() {
  static std::vector<void*> kept;
  return kept;
}

}  // namespace

Evictor::Evictor(std::int64_t bytes) : words_(words_for(bytes), 0) {}

void Evictor::run() {
  for (std::int64_t i = 0; i < words_.size(); i += words_per_line) ++words_[i];
  asm volatile("" : : "r"(words_.data()) : "memory");
}

double probe_latency_ns(std::int64_t bytes, Evictor* evictor) {
  const std::int64_t lines = words_for(bytes) / words_per_line;
  if (lines < 4) throw_value("a probe needs at least 256 bytes");
  // One cycle through all lines (Sattolo's shuffle), so that the walk visits each once.
  std::vector<std::uint32_t> order(static_cast<std::size_t>(lines));
  std::iota(order.begin(), order.end(), 0u);
  std::mt19937_64 random(1);
  for (std::size_t i = order.size() - 1; i > 0; --i) std::swap(order[i], order[random() % i]);
  AlignedArray<std::uint64_t> buffer(lines * words_per_line, 0);
  for (std::int64_t i = 0; i < lines; ++i) {
    buffer[i * words_per_line] =
        static_cast<std::uint64_t>(order[static_cast<std::size_t>(i)]) * words_per_line;
  }
  const auto walk = [&] {
    std::uint64_t at = 0;
    for (std::int64_t i = 0; i < lines; ++i) at = buffer.data()[at];
    sink(at);
  };
  walk();
  if (evictor != nullptr) evictor->run();
  const std::int64_t started = now_ns();
  walk();
  return static_cast<double>(now_ns() - started) / static_cast<double>(lines);
}

std::int64_t age_heap(std::uint64_t seed, std::int64_t megabytes) {
  if (megabytes < 1 || megabytes > 65'536) {
    throw_value("megabytes must be between 1 and 65536, not " + std::to_string(megabytes));
  }
  // Every hole has a block before it that stays, so that no two holes melt into one and
  // what is allocated later lands among other live objects, as in a long-lived process.
  // Most holes are of the size of a hash map's node, some of a growing vector's.
  constexpr std::size_t holes[] = {24, 24, 24, 24, 24, 24, 24, 24, 24, 24,
                                   24, 24, 24, 24, 24, 24, 40, 40, 136, 520};
  constexpr std::size_t staying_sizes[] = {40, 72, 104};
  std::mt19937_64 random(seed);
  // malloc itself: the holes are to be of its sizes.
  const auto allocate = [&](std::size_t size) {
    void* block = std::malloc(size);
    if (block == nullptr) throw std::bad_alloc();
    *static_cast<char*>(block) = 1;
    return block;
  };
  std::vector<void*> stay;
  std::vector<void*> go;
  for (std::int64_t bytes = megabytes << 20; bytes > 0;) {
    const std::size_t kept = staying_sizes[random() % std::size(staying_sizes)];
    const std::size_t hole = holes[random() % std::size(holes)];
    stay.push_back(allocate(kept));
    go.push_back(allocate(hole));
    bytes -= static_cast<std::int64_t>(kept + hole) + 16;
  }
  shuffle(go, random);
  for (void* block : go) std::free(block);
  kept_blocks().insert(kept_blocks().end(), stay.begin(), stay.end());
  return static_cast<std::int64_t>(stay.size());
}

}  // namespace blockmark
