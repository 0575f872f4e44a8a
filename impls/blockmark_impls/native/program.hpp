// A program as the replay reads it: columns that somebody else owns, checked once.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "contract.hpp"
#include "op.hpp"

namespace blockmark {

struct ProgramColumns {
  std::span<const std::uint8_t> codes;       // [R]
  std::span<const std::int64_t> run_start;   // [R + 1]
  std::span<const std::int32_t> a, b, c;     // [N]
  std::span<const std::int64_t> step_runs;   // [S + 1]
  std::span<const std::uint8_t> phases;      // [S]
};

class Program {
 public:
  // Throws Error(value) unless offsets are monotone and cover everything, codes and
  // phases are known, set-up steps have phase 0, and no sequence, handle, logical block
  // or count to take is negative.
  Program(const ProgramColumns& columns, std::int64_t setup_steps);

  std::int64_t num_steps() const { return static_cast<std::int64_t>(columns_.phases.size()); }
  std::int64_t setup_steps() const { return setup_steps_; }
  std::int64_t num_runs() const { return static_cast<std::int64_t>(columns_.codes.size()); }
  std::int64_t num_operations() const { return static_cast<std::int64_t>(columns_.a.size()); }

  const std::uint8_t* codes() const { return columns_.codes.data(); }
  const std::int64_t* run_start() const { return columns_.run_start.data(); }
  const std::int32_t* a() const { return columns_.a.data(); }
  const std::int32_t* b() const { return columns_.b.data(); }
  const std::int32_t* c() const { return columns_.c.data(); }
  const std::int64_t* step_runs() const { return columns_.step_runs.data(); }
  const std::uint8_t* phases() const { return columns_.phases.data(); }

  OpSet ops() const { return ops_; }
  // The largest sequence and logical block that any operation names; -1 if none does.
  std::int64_t max_seq() const { return max_seq_; }
  std::int64_t max_logical() const { return max_logical_; }
  // Sequences in the longest run of PACK.
  std::int64_t max_pack() const { return max_pack_; }
  // Where each handle's blocks lie in a buffer of handle_offsets().back() ids.
  const std::vector<std::int64_t>& handle_offsets() const { return handle_offsets_; }
  // The same operations with each run as a step of its own, for as long as `numbers` lives,
  // which are 0, 1, ... up to the number of runs.
  Program with_runs_as_steps(std::span<const std::int64_t> numbers) const {
    Program split = *this;
    split.columns_.step_runs = numbers;
    return split;
  }
  // Different for every program made in this process, but for one with other steps.
  std::uint64_t serial() const { return serial_; }

 private:
  void check_offsets() const;
  void scan_operations();

  ProgramColumns columns_;
  std::int64_t setup_steps_;
  OpSet ops_;
  std::int64_t max_seq_ = -1;
  std::int64_t max_logical_ = -1;
  std::int64_t max_pack_ = 0;
  std::vector<std::int64_t> handle_offsets_;
  std::uint64_t serial_;
};

}  // namespace blockmark
