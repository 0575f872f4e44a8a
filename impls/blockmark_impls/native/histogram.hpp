// A log-linear histogram of nanoseconds: exact below 128, 128 bins to each doubling
// above, so a bin is at most 1/128 (0.8 %) of its value wide. The maximum is exact.
//   index(v) = v                                    if v < 128
//            = (e + 1) * 128 + (v >> e) - 128,      e = floor(log2 v) - 7
#pragma once

#include <bit>
#include <cstdint>
#include <utility>
#include <vector>

namespace blockmark {

class Histogram {
 public:
  Histogram() : counts_(static_cast<std::size_t>(index(~std::uint64_t{0})) + 1, 0) {}

  static constexpr std::int64_t index(std::uint64_t value) {
    if (value < sub_bins) return static_cast<std::int64_t>(value);
    const int e = std::bit_width(value) - 1 - sub_bits;
    return static_cast<std::int64_t>((static_cast<std::uint64_t>(e) + 1) * sub_bins + (value >> e) -
                                     sub_bins);
  }

  void record(std::int64_t ns) {
    // The clock is monotonic, so a negative time cannot come from a replay.
    const auto value = static_cast<std::uint64_t>(ns);
    ++counts_[static_cast<std::size_t>(index(value))];
    ++samples_;
    if (ns > max_) max_ = ns;
  }

  // Adds what another one counted.
  void merge(const Histogram& other) {
    for (std::size_t i = 0; i < counts_.size(); ++i) counts_[i] += other.counts_[i];
    samples_ += other.samples_;
    if (other.max_ > max_) max_ = other.max_;
  }

  std::vector<std::pair<std::int64_t, std::int64_t>> counts() const {
    std::vector<std::pair<std::int64_t, std::int64_t>> result;
    for (std::size_t i = 0; i < counts_.size(); ++i) {
      if (counts_[i] != 0) result.emplace_back(static_cast<std::int64_t>(i), counts_[i]);
    }
    return result;
  }
  std::int64_t max_value() const { return max_; }
  std::int64_t samples() const { return samples_; }

 private:
  static constexpr int sub_bits = 7;
  static constexpr std::uint64_t sub_bins = 1u << sub_bits;

  std::vector<std::int64_t> counts_;
  std::int64_t max_ = 0;
  std::int64_t samples_ = 0;
};

}  // namespace blockmark
