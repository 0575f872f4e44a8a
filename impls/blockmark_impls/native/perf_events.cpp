#include "perf_events.hpp"

#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "contract.hpp"

namespace blockmark {

namespace {

[[noreturn]] void throw_errno(const char* what) {
  throw std::system_error(errno, std::generic_category(), what);
}

// The file, or -1 with errno set.
int open_event(const PerfEvents::Event& event, int leader, bool exclude_kernel) {
  perf_event_attr attributes{};
  attributes.size = sizeof(attributes);
  attributes.type = event.first;
  attributes.config = event.second;
  // A member counts when its leader does, so the leader alone begins switched off.
  attributes.disabled = leader == -1;
  attributes.exclude_kernel = exclude_kernel;
  attributes.exclude_hv = 1;
  attributes.read_format =
      PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
  constexpr int this_thread = 0, any_cpu = -1;
  return static_cast<int>(syscall(SYS_perf_event_open, &attributes, this_thread, any_cpu, leader,
                                  PERF_FLAG_FD_CLOEXEC));
}

template <class Group>
int leader_of(const Group& group) {
  const auto leader = std::ranges::find_if(group, [](const auto& event) { return event.fd >= 0; });
  return leader == group.end() ? -1 : leader->fd;
}

}  // namespace

PerfEvents::PerfEvents(const std::vector<std::vector<Event>>& groups, bool exclude_kernel) {
  groups_.reserve(groups.size());
  for (const auto& events : groups) {
    Group& group = groups_.emplace_back();
    group.reserve(events.size());
    for (const Event& event : events) {
      const int fd = open_event(event, leader_of(group), exclude_kernel);
      group.push_back({.fd = fd, .error = fd < 0 ? errno : 0, .base = {}});
    }
  }
}

PerfEvents::~PerfEvents() { close(); }

std::vector<std::vector<int>> PerfEvents::errors() const {
  std::vector<std::vector<int>> result;
  for (const Group& group : groups_) {
    auto& errors = result.emplace_back();
    for (const Opened& event : group) errors.push_back(event.error);
  }
  return result;
}

std::vector<std::optional<PerfCount>> PerfEvents::read_group(const Group& group) const {
  std::vector<std::optional<PerfCount>> counts(group.size());
  const int leader = leader_of(group);
  if (leader < 0) return counts;
  constexpr std::size_t head = 3;  // number of events, ns enabled, ns running
  std::vector<std::uint64_t> words(head + group.size());
  const ssize_t bytes = ::read(leader, words.data(), words.size() * sizeof(words[0]));
  if (bytes < 0) throw_errno("perf events cannot be read");
  const auto opened = std::ranges::count_if(group, [](const Opened& e) { return e.fd >= 0; });
  if (bytes != static_cast<ssize_t>((head + static_cast<std::size_t>(opened)) * sizeof(words[0]))) {
    errno = EIO;
    throw_errno("perf events were read in part");
  }
  std::size_t at = head;
  for (std::size_t i = 0; i < group.size(); ++i) {
    if (group[i].fd >= 0) counts[i] = PerfCount{words[at++], words[1], words[2]};
  }
  return counts;
}

std::vector<std::vector<std::optional<PerfCount>>> PerfEvents::read() const {
  check_open();
  std::vector<std::vector<std::optional<PerfCount>>> result;
  for (const Group& group : groups_) {
    auto& counts = result.emplace_back(read_group(group));
    for (std::size_t i = 0; i < group.size(); ++i) {
      if (!counts[i]) continue;
      counts[i]->count -= group[i].base.count;
      counts[i]->enabled_ns -= group[i].base.enabled_ns;
      counts[i]->running_ns -= group[i].base.running_ns;
    }
  }
  return result;
}

void PerfEvents::reset() {
  check_open();
  for (Group& group : groups_) {
    const auto counts = read_group(group);
    for (std::size_t i = 0; i < group.size(); ++i) {
      if (counts[i]) group[i].base = *counts[i];
    }
  }
}

void PerfEvents::close() {
  for (Group& group : groups_) {
    for (Opened& event : group) {
      if (event.fd >= 0) ::close(event.fd);
      event.fd = -1;
    }
  }
  closed_ = true;
}

void PerfEvents::check_open() const {
  if (closed_) throw_value("the perf events are closed");
}

void PerfEvents::enter() { command(PERF_EVENT_IOC_ENABLE); }
void PerfEvents::leave() { command(PERF_EVENT_IOC_DISABLE); }

void PerfEvents::command(unsigned long request) const {
  for (const Group& group : groups_) {
    const int leader = leader_of(group);
    if (leader >= 0 && ioctl(leader, request, 0) != 0) {
      throw_errno("perf events cannot be switched");
    }
  }
}

}  // namespace blockmark
