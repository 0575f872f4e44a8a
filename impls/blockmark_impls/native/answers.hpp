// What the operations of a replay answered, in one flat row of numbers: for each operation its
// index in the program, how many values follow, and the values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace blockmark {

class Answers {
 public:
  // Cold and out of line, as all that answers: see Replay::answers.
  [[gnu::cold, gnu::noinline]] void begin(std::int64_t operation) {
    items_.push_back(operation);
    count_at_ = items_.size();
    items_.push_back(0);
  }
  [[gnu::cold, gnu::noinline]] void add(std::int64_t value) {
    items_.push_back(value);
    ++items_[count_at_];
  }

  std::vector<std::int64_t> items() && { return std::move(items_); }

 private:
  std::vector<std::int64_t> items_;
  std::size_t count_at_ = 0;
};

}  // namespace blockmark
