// The one loop that every structure is measured by: a template on the target, with no
// virtual call and nothing built on the way.
//
// Operations come in runs of one code; each code has a loop of its own, kept out of
// line, so that a profiler can name it and no target's loop changes another's. Whatever
// a loop needs (the buffer that tables are packed into, room for taken blocks) is made
// by prepare(), before the clock.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "aligned_array.hpp"
#include "allocations.hpp"
#include "answers.hpp"
#include "clock.hpp"
#include "conditions.hpp"
#include "contract.hpp"
#include "histogram.hpp"
#include "op.hpp"
#include "pacing.hpp"
#include "program.hpp"
#include "region.hpp"

namespace blockmark {

// Changes when a number from an older replay could not be compared with a new one.
inline constexpr int replay_version = 1;

// What a target keeps between replays: blocks that handles hold stay taken.
template <std::integral Id>
struct ReplayBuffers {
  AlignedArray<std::int32_t> packed;
  AlignedArray<std::int32_t> lengths;
  std::vector<Id> handle_ids;
  std::vector<std::int64_t> held;
  std::uint64_t handles_of = 0;  // serial of the program that the handles belong to
};

template <class Target>
class Replay {
 public:
  using id_type = typename Target::id_type;
  using Buffers = ReplayBuffers<id_type>;

  // Throws Error(value) if the target does not serve an operation of the program.
  Replay(Target& target, Buffers& buffers, const Program& program)
      : target_(target), buffers_(buffers), program_(program) {
    for (int code = 0; code < num_ops; ++code) {
      const Op op = static_cast<Op>(code);
      if (program.ops().has(op) && !Target::served.has(op)) {
        throw_value(std::string("the program holds ") + op_name(op) +
                    ", which this target does not serve");
      }
    }
    if constexpr (requires { target.check_fits(program); }) target.check_fits(program);
    prepare();
  }

  void setup() {
    for (std::int64_t step = 0; step < program_.setup_steps(); ++step) run_step(step);
  }

  // Body steps first, first + 1, ..., around the end of the body. The clock is read
  // only where the phase changes. Returns the nanoseconds of phases 1 and 2.
  std::pair<std::int64_t, std::int64_t> timed(std::int64_t first, std::int64_t count) {
    std::array<std::int64_t, 3> sums{};
    std::int64_t started = 0;
    int running = 0;
    body(first, count, [&](std::int64_t step, int phase) {
      if (phase != running) {
        const std::int64_t now = now_ns();
        sums[static_cast<std::size_t>(running)] += now - started;
        started = now;
        running = phase;
      }
      run_step(step);
    });
    if (running != 0) sums[static_cast<std::size_t>(running)] += now_ns() - started;
    return {sums[1], sums[2]};
  }

  // Every timed step alone, so that its time includes one reading of the clock.
  void each(std::int64_t first, std::int64_t count, Histogram& phase1, Histogram& phase2) {
    body(first, count, [&](std::int64_t step, int phase) {
      if (phase == 0) return run_step(step);
      const std::int64_t started = now_ns();
      run_step(step);
      const std::int64_t ended = now_ns();
      (phase == 1 ? phase1 : phase2).record(ended - started);
    });
  }

  // As each(), with caches evicted before every timed step, off the clock.
  std::vector<std::int64_t> cold(std::int64_t first, std::int64_t count, Evictor& evictor) {
    std::vector<std::int64_t> times;
    times.reserve(static_cast<std::size_t>(count < 0 ? 0 : count));
    body(first, count, [&](std::int64_t step, int phase) {
      if (phase == 0) return run_step(step);
      evictor.run();
      const std::int64_t started = now_ns();
      run_step(step);
      times.push_back(now_ns() - started);
    });
    return times;
  }

  // Heap allocations of phases 1 and 2.
  std::pair<std::int64_t, std::int64_t> allocations(std::int64_t first, std::int64_t count) {
    std::array<std::int64_t, 3> sums{};
    body(first, count, [&](std::int64_t step, int phase) {
      const std::int64_t before = heap_allocations();
      run_step(step);
      sums[static_cast<std::size_t>(phase)] += heap_allocations() - before;
    });
    return {sums[1], sums[2]};
  }

  // The steps of one phase inside the region, all others outside. As timed() reads its
  // clock, the region is entered and left only where the phase changes.
  void within(std::int64_t first, std::int64_t count, int wanted, Region& region) {
    if (wanted != 1 && wanted != 2) {
      throw_value("phase must be 1 or 2, not " + std::to_string(wanted));
    }
    Visit visit(region);
    body(first, count, [&](std::int64_t step, int phase) {
      visit.be(phase == wanted);
      run_step(step);
    });
    visit.be(false);
  }

  // What the steps answer, off the clock, run by run as they are timed: a Reader for each run
  // of lookups, a call for each run of PACK. Values are
  //   CAN_ALLOCATE           0 or 1
  //   APPEND, EXTEND         src and dst of each copy
  //   LOOKUP, LOOKUP_CHAIN   the block
  //   PACK                   of each row its length and all of its ids: one record for the run,
  //                          at its first index; -1 where nothing was written
  //   TAKE                   the blocks
  //   FIND                   the first block, or -1
  // Other operations leave no record.
  //
  // The code of the timed loops must not change by what is here. So the core compiles it in
  // units of its own; and for a unit that has both, all of it is cold, which g++ does not
  // count when it decides how much may be inlined, and runs go through run_step, so that the
  // timed loops keep their one caller.
  [[gnu::cold, gnu::noinline]] std::vector<std::int64_t> answers(std::int64_t first,
                                                                 std::int64_t count) {
    std::vector<std::int64_t> numbers(static_cast<std::size_t>(program_.num_runs()) + 1);
    std::iota(numbers.begin(), numbers.end(), 0);
    const Program split = program_.with_runs_as_steps(numbers);
    Replay by_run(target_, buffers_, split);
    Answers out;
    body(first, count, [&](std::int64_t step, int) {
      const std::int64_t last = program_.step_runs()[step + 1];
      for (std::int64_t run = program_.step_runs()[step]; run < last; ++run) {
        by_run.answer(run, out);
      }
    });
    return std::move(out).items();
  }

  // The body at a rate, around its end for as long as it takes.
  Paced paced(std::int64_t first, const Pace& pace_, Evictor* stream, void (*interrupt)()) {
    Ticks ticks(*this, body_step(first));
    return pace(pace_, ticks, stream, interrupt);
  }

 private:
  struct Run {
    std::int64_t first, end;
  };

  // A tick is the next step of phase 1 and the steps of phase 2 that follow it directly.
  // What lies between is off the clock: steps of phase 0, and of phase 2 after those.
  class Ticks final : public PacedWork {
   public:
    Ticks(Replay& replay, std::int64_t at) : replay_(replay), at_(at) {
      const Program& program = replay.program_;
      for (std::int64_t step = program.setup_steps(); step < program.num_steps(); ++step) {
        if (program.phases()[step] == 1) return;
      }
      throw_value("the program has no step of phase 1 after its set-up");
    }

    bool has_untimed() const override { return phase() != 1; }
    void untimed() override {
      while (phase() != 1) run();
    }
    void first() override { run(); }
    bool has_second() const override { return phase() == 2; }
    void second() override {
      while (phase() == 2) run();
    }

   private:
    int phase() const { return replay_.program_.phases()[at_]; }
    void run() {
      replay_.run_step(at_);
      at_ = replay_.step_after(at_);
    }

    Replay& replay_;
    std::int64_t at_;
  };

  void prepare() {
    if constexpr (Target::served.has(Op::pack)) {
      const std::int64_t rows = program_.max_pack();
      if (buffers_.lengths.size() < rows) {
        std::int64_t items = 0;
        if (__builtin_mul_overflow(rows, target_.sizes().max_blocks_per_seq, &items)) {
          throw_value("the packed tables are too large");
        }
        buffers_.packed = AlignedArray<std::int32_t>(items, 0);
        buffers_.lengths = AlignedArray<std::int32_t>(rows, 0);
      }
    }
    if constexpr (Target::served.has(Op::take)) {
      if (buffers_.handles_of == program_.serial()) return;
      for (const std::int64_t held : buffers_.held) {
        if (held != 0) throw_value("handles of another program still hold blocks");
      }
      const auto& offsets = program_.handle_offsets();
      buffers_.handle_ids.assign(static_cast<std::size_t>(offsets.back()), id_type{0});
      buffers_.held.assign(offsets.size() - 1, 0);
      buffers_.handles_of = program_.serial();
    }
  }

  template <class Step>
  void body(std::int64_t first, std::int64_t count, Step&& step) {
    if (first < 0 || count < 0) throw_value("first_step and num_steps must not be negative");
    if (count == 0) return;
    std::int64_t at = body_step(first);
    const std::uint8_t* phases = program_.phases();
    for (std::int64_t i = 0; i < count; ++i) {
      step(at, phases[at]);
      at = step_after(at);
    }
  }

  // The step of the program that a step of the body is, counted around its end.
  std::int64_t body_step(std::int64_t step) const {
    const std::int64_t length = program_.num_steps() - program_.setup_steps();
    if (step < 0) throw_value("first_step must not be negative");
    if (length == 0) throw_value("the program has no steps after its set-up");
    return program_.setup_steps() + step % length;
  }
  std::int64_t step_after(std::int64_t step) const {
    return step + 1 == program_.num_steps() ? program_.setup_steps() : step + 1;
  }

  [[gnu::noinline]] void run_step(std::int64_t step) {
    const std::int64_t last = program_.step_runs()[step + 1];
    for (std::int64_t run = program_.step_runs()[step]; run < last; ++run) {
      const Run range{program_.run_start()[run], program_.run_start()[run + 1]};
      dispatch(static_cast<Op>(program_.codes()[run]), range);
    }
  }

  [[gnu::always_inline]] void dispatch(Op op, Run run) {
    switch (op) {
      case Op::can_allocate: return serve<Op::can_allocate>(run);
      case Op::allocate: return serve<Op::allocate>(run);
      case Op::append: return serve<Op::append>(run);
      case Op::extend: return serve<Op::extend>(run);
      case Op::truncate: return serve<Op::truncate>(run);
      case Op::drop_front: return serve<Op::drop_front>(run);
      case Op::fork: return serve<Op::fork>(run);
      case Op::free: return serve<Op::free>(run);
      case Op::lookup: return serve<Op::lookup>(run);
      case Op::lookup_chain: return serve<Op::lookup_chain>(run);
      case Op::pack: return serve<Op::pack>(run);
      case Op::take: return serve<Op::take>(run);
      case Op::give: return serve<Op::give>(run);
      case Op::remove: return serve<Op::remove>(run);
      case Op::find: return serve<Op::find>(run);
      case Op::compact: return serve<Op::compact>(run);
    }
  }

  template <Op op>
  [[gnu::always_inline]] void serve(Run run) {
    if constexpr (Target::served.has(op)) loop<op>(run);
  }

  // A contract error leaves with the index of its operation.
  template <Op op, class Body>
  [[gnu::always_inline]] void each_operation(Run run, Body&& operation) {
    std::int64_t i = run.first;
    try {
      for (; i < run.end; ++i) operation(i);
    } catch (Error& error) {
      error.locate(op_name(op), i);
      throw;
    }
  }

  template <Op op>
  [[gnu::noinline]] void loop(Run run) {
    Target& target = target_;
    const std::int32_t* const a = program_.a();
    const std::int32_t* const b = program_.b();
    const auto on_copy = [](std::int64_t src, std::int64_t dst) {
      sink(src);
      sink(dst);
    };
    if constexpr (op == Op::can_allocate) {
      each_operation<op>(run, [&](std::int64_t i) {
        sink(static_cast<int>(target.can_allocate(a[i])));
      });
    } else if constexpr (op == Op::allocate) {
      each_operation<op>(run, [&](std::int64_t i) { target.allocate(a[i], b[i]); });
    } else if constexpr (op == Op::append) {
      each_operation<op>(run, [&](std::int64_t i) { target.append(a[i], on_copy); });
    } else if constexpr (op == Op::extend) {
      each_operation<op>(run, [&](std::int64_t i) { target.extend(a[i], b[i], on_copy); });
    } else if constexpr (op == Op::truncate) {
      each_operation<op>(run, [&](std::int64_t i) { target.truncate(a[i], b[i]); });
    } else if constexpr (op == Op::drop_front) {
      each_operation<op>(run, [&](std::int64_t i) { target.drop_front(a[i], b[i]); });
    } else if constexpr (op == Op::fork) {
      const std::int32_t* const c = program_.c();
      each_operation<op>(run, [&](std::int64_t i) {
        c[i] == 0 ? target.fork(a[i], b[i]) : target.fork(a[i], b[i], c[i]);
      });
    } else if constexpr (op == Op::free) {
      each_operation<op>(run, [&](std::int64_t i) { target.free(a[i]); });
    } else if constexpr (op == Op::lookup) {
      const typename Target::Reader reader(target);
      each_operation<op>(run, [&](std::int64_t i) { sink(reader.lookup(a[i], b[i])); });
    } else if constexpr (op == Op::lookup_chain) {
      // A zero that the compiler cannot see: each address waits for the last answer.
      std::int64_t zero = 0;
      asm volatile("" : "+r"(zero));
      std::int64_t answer = 0;
      const typename Target::Reader reader(target);
      each_operation<op>(run, [&](std::int64_t i) {
        answer = static_cast<std::int64_t>(reader.lookup(a[i], b[i] ^ (answer & zero)));
      });
      sink(answer);
    } else if constexpr (op == Op::pack) {
      std::int64_t i = run.first;
      try {
        target.write_block_tables(a + run.first, run.end - run.first, buffers_.packed.data(),
                                  target.sizes().max_blocks_per_seq, buffers_.lengths.data());
      } catch (Error& error) {
        error.locate(op_name(op), i);
        throw;
      }
    } else if constexpr (op == Op::take) {
      each_operation<op>(run, [&](std::int64_t i) { take(a[i], b[i]); });
    } else if constexpr (op == Op::give) {
      each_operation<op>(run, [&](std::int64_t i) { give(a[i]); });
    } else if constexpr (op == Op::remove) {
      each_operation<op>(run, [&](std::int64_t i) { remove(a[i], b[i]); });
    } else if constexpr (op == Op::find) {
      each_operation<op>(run, [&](std::int64_t i) { sink(target.find_contiguous(a[i])); });
    } else if constexpr (op == Op::compact) {
      each_operation<op>(run, [&](std::int64_t i) { sink(target.plan_compaction(a[i])); });
    }
  }

  // The number of a run, where each is a step. Loops beside the timed ones keep what those sink.
  [[gnu::noinline, gnu::cold]] void answer(std::int64_t number, Answers& out) {
    const Run run{program_.run_start()[number], program_.run_start()[number + 1]};
    const Op op = static_cast<Op>(program_.codes()[number]);
    switch (op) {
      case Op::can_allocate: return answering<Op::can_allocate>(run, out);
      case Op::append: return answering<Op::append>(run, out);
      case Op::extend: return answering<Op::extend>(run, out);
      case Op::lookup: return answering<Op::lookup>(run, out);
      case Op::lookup_chain: return answering<Op::lookup_chain>(run, out);
      case Op::find: return answering<Op::find>(run, out);
      case Op::pack: return packed(number, run, out);
      case Op::take: return taken(number, run, out);
      default: return run_step(number);
    }
  }

  template <Op op>
  [[gnu::noinline, gnu::cold]] void answering(Run run, Answers& out) {
    if constexpr (Target::served.has(op)) {
      Target& target = target_;
      const std::int32_t* const a = program_.a();
      const std::int32_t* const b = program_.b();
      const auto on_copy = [&](std::int64_t src, std::int64_t dst) {
        out.add(src);
        out.add(dst);
      };
      if constexpr (op == Op::can_allocate) {
        each_operation<op>(run, [&](std::int64_t i) {
          out.begin(i);
          out.add(target.can_allocate(a[i]) ? 1 : 0);
        });
      } else if constexpr (op == Op::append) {
        each_operation<op>(run, [&](std::int64_t i) {
          out.begin(i);
          target.append(a[i], on_copy);
        });
      } else if constexpr (op == Op::extend) {
        each_operation<op>(run, [&](std::int64_t i) {
          out.begin(i);
          target.extend(a[i], b[i], on_copy);
        });
      } else if constexpr (op == Op::lookup || op == Op::lookup_chain) {
        const typename Target::Reader reader(target);
        each_operation<op>(run, [&](std::int64_t i) {
          out.begin(i);
          out.add(static_cast<std::int64_t>(reader.lookup(a[i], b[i])));
        });
      } else if constexpr (op == Op::find) {
        each_operation<op>(run, [&](std::int64_t i) {
          out.begin(i);
          out.add(target.find_contiguous(a[i]));
        });
      }
    }
  }

  // The timed loops leave these in the buffers.
  [[gnu::noinline, gnu::cold]] void packed(std::int64_t number, Run run, Answers& out) {
    if constexpr (Target::served.has(Op::pack)) {
      const std::int64_t rows = run.end - run.first;
      const std::int64_t width = target_.sizes().max_blocks_per_seq;
      std::fill_n(buffers_.packed.data(), rows * width, -1);
      std::fill_n(buffers_.lengths.data(), rows, -1);
      run_step(number);
      if (rows > 0) out.begin(run.first);
      for (std::int64_t row = 0; row < rows; ++row) {
        out.add(buffers_.lengths[row]);
        for (std::int64_t i = 0; i < width; ++i) out.add(buffers_.packed[row * width + i]);
      }
    }
  }
  [[gnu::noinline, gnu::cold]] void taken(std::int64_t number, Run run, Answers& out) {
    if constexpr (Target::served.has(Op::take)) {
      run_step(number);
      for (std::int64_t i = run.first; i < run.end; ++i) {
        out.begin(i);
        const auto handle = static_cast<std::size_t>(program_.a()[i]);
        const auto* ids = buffers_.handle_ids.data() + program_.handle_offsets()[handle];
        for (std::int64_t k = 0; k < program_.b()[i]; ++k) {
          out.add(static_cast<std::int64_t>(ids[k]));
        }
      }
    }
  }

  // Texts are made out of line: a string in a timed loop costs it registers.
  [[noreturn, gnu::noinline, gnu::cold]] static void already_holds(std::int64_t handle) {
    throw_value("handle " + std::to_string(handle) + " already holds blocks");
  }
  [[noreturn, gnu::noinline, gnu::cold]] static void not_free(std::int64_t id) {
    throw_value("block " + std::to_string(id) + " is not free");
  }

  [[gnu::always_inline]] void take(std::int64_t handle, std::int64_t blocks) {
    auto& held = buffers_.held[static_cast<std::size_t>(handle)];
    if (held != 0) [[unlikely]] already_holds(handle);
    if (blocks > target_.num_free()) throw_out_of_blocks(blocks, target_.num_free());
    id_type* ids = buffers_.handle_ids.data() +
                   program_.handle_offsets()[static_cast<std::size_t>(handle)];
    using Pool = std::remove_cvref_t<decltype(target_.pool())>;
    if constexpr (BatchPool<Pool>) {
      target_.pool().take(blocks, ids);
    } else {
      auto&& pool = open_pool(target_.pool());
      for (std::int64_t i = 0; i < blocks; ++i) ids[i] = static_cast<id_type>(pool.take());
    }
    held = blocks;
  }

  // The blocks that the handle held last, by their ids: they were given back and must still
  // be free, as those of a prefix that is hit.
  [[gnu::always_inline]] void remove(std::int64_t handle, std::int64_t blocks) {
    auto& held = buffers_.held[static_cast<std::size_t>(handle)];
    if (held != 0) [[unlikely]] already_holds(handle);
    const id_type* ids = buffers_.handle_ids.data() +
                         program_.handle_offsets()[static_cast<std::size_t>(handle)];
    auto& pool = target_.pool();
    for (std::int64_t i = 0; i < blocks; ++i) {
      if (!pool.is_free(static_cast<std::int64_t>(ids[i]))) [[unlikely]] {
        not_free(static_cast<std::int64_t>(ids[i]));
      }
      pool.remove(ids[i]);
    }
    held = blocks;
  }

  [[gnu::always_inline]] void give(std::int64_t handle) {
    auto& held = buffers_.held[static_cast<std::size_t>(handle)];
    const id_type* ids = buffers_.handle_ids.data() +
                         program_.handle_offsets()[static_cast<std::size_t>(handle)];
    const std::int64_t blocks = held;
    using Pool = std::remove_cvref_t<decltype(target_.pool())>;
    if constexpr (BatchPool<Pool>) {
      target_.pool().give(ids, blocks);
    } else {
      auto&& pool = open_pool(target_.pool());
      for (std::int64_t i = 0; i < blocks; ++i) pool.give(ids[i]);
    }
    held = 0;
  }

  Target& target_;
  Buffers& buffers_;
  const Program& program_;
};

}  // namespace blockmark
