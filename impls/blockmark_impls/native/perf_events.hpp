// The kernel's performance counters for this thread, as a region. What to count, and what
// the counts mean, is decided elsewhere.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "region.hpp"

namespace blockmark {

struct PerfCount {
  std::uint64_t count = 0;       // as the kernel has it, not scaled
  std::uint64_t enabled_ns = 0;  // inside the region
  std::uint64_t running_ns = 0;  // of that, on a counter: less where counters are shared
};

class PerfEvents final : public Region {
 public:
  using Event = std::pair<std::uint32_t, std::uint64_t>;  // type, config

  // Opens every event for the calling thread. The first of a list that opens leads a
  // kernel group, so that the events of a list count at the same time or not at all. An
  // event that does not open keeps its errno and stops no other.
  PerfEvents(const std::vector<std::vector<Event>>& groups, bool exclude_kernel);
  ~PerfEvents() override;

  std::vector<std::vector<int>> errors() const;

  // Since the last reset; nothing for an event that did not open. Throws
  // std::system_error if the kernel refuses, Error(value) after close().
  std::vector<std::vector<std::optional<PerfCount>>> read() const;
  void reset();
  void close();

  void enter() override;
  void leave() override;

 private:
  struct Opened {
    int fd = -1;
    int error = 0;
    // At the last reset. The kernel can zero a count but not its times.
    PerfCount base;
  };
  // The events that opened are in the kernel's group in the order of the list.
  using Group = std::vector<Opened>;

  std::vector<std::optional<PerfCount>> read_group(const Group& group) const;
  void check_open() const;
  void command(unsigned long request) const;

  std::vector<Group> groups_;
  bool closed_ = false;
};

}  // namespace blockmark
