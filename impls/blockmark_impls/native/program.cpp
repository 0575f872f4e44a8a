#include "program.hpp"

#include <algorithm>
#include <atomic>
#include <string>

namespace blockmark {

namespace {

// Handles number a buffer; more than this is a damaged program, not a workload.
constexpr std::int64_t max_handles = std::int64_t{1} << 28;
constexpr std::int64_t max_handle_blocks = std::int64_t{1} << 32;

void check_size(const char* name, std::size_t size, std::size_t wanted) {
  if (size != wanted) {
    throw_value(std::string(name) + " has " + std::to_string(size) + " items, not " +
                std::to_string(wanted));
  }
}

void check_monotone(const char* name, std::span<const std::int64_t> offsets, std::size_t end) {
  if (offsets.front() != 0) throw_value(std::string(name) + " must begin with 0");
  for (std::size_t i = 1; i < offsets.size(); ++i) {
    if (offsets[i] < offsets[i - 1]) {
      throw_value(std::string(name) + " falls at index " + std::to_string(i));
    }
  }
  if (offsets.back() != static_cast<std::int64_t>(end)) {
    throw_value(std::string(name) + " ends at " + std::to_string(offsets.back()) + ", not at " +
                std::to_string(end));
  }
}

std::uint64_t next_serial() {
  static std::atomic<std::uint64_t> serial{0};
  return ++serial;
}

}  // namespace

Program::Program(const ProgramColumns& columns, std::int64_t setup_steps)
    : columns_(columns), setup_steps_(setup_steps), serial_(next_serial()) {
  check_offsets();
  scan_operations();
}

void Program::check_offsets() const {
  check_size("run_start", columns_.run_start.size(), columns_.codes.size() + 1);
  check_size("step_runs", columns_.step_runs.size(), columns_.phases.size() + 1);
  check_size("b", columns_.b.size(), columns_.a.size());
  check_size("c", columns_.c.size(), columns_.a.size());
  check_monotone("run_start", columns_.run_start, columns_.a.size());
  check_monotone("step_runs", columns_.step_runs, columns_.codes.size());
  if (setup_steps_ < 0 || setup_steps_ > num_steps()) {
    throw_value("setup_steps is " + std::to_string(setup_steps_) + ", of " +
                std::to_string(num_steps()) + " steps");
  }
  for (std::int64_t step = 0; step < num_steps(); ++step) {
    const int phase = columns_.phases[static_cast<std::size_t>(step)];
    if (phase > 2) {
      throw_value("step " + std::to_string(step) + " has phase " + std::to_string(phase) +
                  ", not 0, 1 or 2");
    }
    if (phase != 0 && step < setup_steps_) {
      throw_value("step " + std::to_string(step) + " is set-up and has a clock");
    }
  }
}

void Program::scan_operations() {
  const auto refuse = [](std::int64_t i, Op op, const char* what) {
    throw_value("operation " + std::to_string(i) + " (" + op_name(op) + "): " + what);
  };
  std::vector<std::int64_t> handle_sizes;
  for (std::size_t run = 0; run < columns_.codes.size(); ++run) {
    if (columns_.codes[run] >= num_ops) {
      throw_value("run " + std::to_string(run) + " has the unknown code " +
                  std::to_string(columns_.codes[run]));
    }
    const Op op = static_cast<Op>(columns_.codes[run]);
    ops_.add(op);
    const std::int64_t first = columns_.run_start[run];
    const std::int64_t end = columns_.run_start[run + 1];
    if (op == Op::pack) max_pack_ = std::max(max_pack_, end - first);
    for (std::int64_t i = first; i < end; ++i) {
      const std::int64_t a = columns_.a[static_cast<std::size_t>(i)];
      const std::int64_t b = columns_.b[static_cast<std::size_t>(i)];
      if (op == Op::can_allocate) continue;
      if (a < 0) refuse(i, op, "a is negative");
      if (op == Op::find || op == Op::compact) continue;
      if (op == Op::take || op == Op::give || op == Op::remove) {
        if (a >= max_handles) refuse(i, op, "the handle is too large");
        if (a >= static_cast<std::int64_t>(handle_sizes.size())) {
          handle_sizes.resize(static_cast<std::size_t>(a) + 1, 0);
        }
        if (op != Op::give) {
          if (b < 0) refuse(i, op, "the number of blocks is negative");
          auto& size = handle_sizes[static_cast<std::size_t>(a)];
          size = std::max(size, b);
        }
        continue;
      }
      max_seq_ = std::max(max_seq_, a);
      if (op == Op::lookup || op == Op::lookup_chain) {
        if (b < 0) refuse(i, op, "the logical block is negative");
        max_logical_ = std::max(max_logical_, b);
      }
      if (op == Op::fork) {
        if (b < 0) refuse(i, op, "the child is negative");
        max_seq_ = std::max(max_seq_, b);
      }
    }
  }
  handle_offsets_.assign(1, 0);
  for (const std::int64_t size : handle_sizes) {
    handle_offsets_.push_back(handle_offsets_.back() + size);
    if (handle_offsets_.back() > max_handle_blocks) throw_value("the handles hold too many blocks");
  }
}

}  // namespace blockmark
