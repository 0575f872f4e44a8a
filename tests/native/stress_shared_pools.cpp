// Hammers every pool that threads may share, and shows that the check can fail: with a stack
// that lacks the tag, by an interleaving that is laid out and not hoped for, and with a pool
// without a lock, which ThreadSanitizer must report.
//
//   stress_shared_pools SCHEME THREADS ROUNDS     one of the shared pools, or all
//   stress_shared_pools aba-untagged, aba-tagged   both stacks under the same interleaving
//   stress_shared_pools lost-check                 an unlocked pool, check and act apart
//   stress_shared_pools race                       an unlocked pool under two threads
//   stress_shared_pools throwing THREAD            windows of two threads, of which one throws
//
// Prints what is wrong, or `ok`; exits with 1 if something is.
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "contention/adaptive.hpp"
#include "contention/magazines.hpp"
#include "contention/mutex.hpp"
#include "contention/none.hpp"
#include "contention/spin.hpp"
#include "contention/stress.hpp"
#include "contention/treiber.hpp"
#include "contention/windows.hpp"

using namespace blockmark;

namespace {

// The stack as it must not be: the head is compared by its id alone.
class UntaggedStack {
 public:
  explicit UntaggedStack(BlockId total) : next_(total) {
    for (BlockId i = 0; i < total; ++i) next_[i] = i + 1;
  }
  struct Chain {
    BlockId head, behind;
  };
  Chain read() const { return {head_, next_[head_]}; }
  bool unlink(const Chain& chain) {
    if (head_ != chain.head) return false;
    head_ = chain.behind;
    return true;
  }
  BlockId take() {
    const Chain chain = read();
    unlink(chain);
    return chain.head;
  }
  void give(BlockId id) {
    next_[id] = head_;
    head_ = id;
  }

 private:
  std::vector<BlockId> next_;
  BlockId head_ = 0;
};

// Thread 1 reads the head, thread 2 pops two and gives the first back, thread 1 goes on.
std::string aba_untagged() {
  UntaggedStack stack(4);
  Owners owners(4);
  const auto slow = stack.read();
  const BlockId first = stack.take(), second = stack.take();
  owners.claim(2, first);
  owners.claim(2, second);
  owners.release(2, first);
  stack.give(first);
  if (!stack.unlink(slow)) return "";
  owners.claim(1, slow.head);
  owners.claim(1, stack.take());
  return owners.verdict({});
}

std::string aba_tagged() {
  TreiberPool pool(4, 2);
  Owners owners(4);
  BlockId mine[1], theirs[2];
  const TreiberPool::Chain slow = pool.read_chain(1, mine);
  pool.take(1, 2, theirs);
  owners.claim(2, theirs[0]);
  owners.claim(2, theirs[1]);
  owners.release(2, theirs[0]);
  pool.give(1, theirs, 1);
  if (pool.unlink(slow)) return "a stale head was accepted";
  pool.take(0, 1, mine);
  owners.claim(1, mine[0]);
  owners.release(1, mine[0]);
  owners.release(2, theirs[1]);
  pool.give(0, mine, 1);
  pool.give(1, theirs + 1, 1);
  return owners.verdict(pool.free_ids());
}

// Two threads that each find one block left, and then both take it.
std::string lost_check() {
  std::vector<BlockId> free{0};
  Owners owners(1);
  const bool one_has = !free.empty(), other_has = !free.empty();
  const BlockId last = free.back();
  if (one_has) owners.claim(1, last);
  if (other_has) owners.claim(2, last);
  return owners.verdict({});
}

std::string race() {
  UnlockedPool pool(64, 2);
  const auto work = [&](int thread) {
    BlockId id[1];
    for (int i = 0; i < 1000; ++i) {
      if (pool.take(thread, 1, id)) pool.give(thread, id, 1);
    }
  };
  std::thread other(work, 1);
  work(0);
  other.join();
  return "";
}

// A thread that throws in the middle of a window ends the windows of all.
std::string throwing(int thrower) {
  struct Work {
    int thrower;
    int chunks[2] = {0, 0};
    std::int64_t chunk(int thread, Samples&) {
      if (thread == thrower && ++chunks[thread] == 3) throw std::runtime_error("thrown");
      return 1;
    }
  } work{thrower};
  try {
    run_windows(WindowPlan{2, 100'000, 60'000, 3, 5}, work);
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "nothing was thrown";
}

template <SharedPool Pool>
std::optional<std::string> hammer(const std::string& scheme, int threads, long rounds) {
  if (scheme != Pool::name && scheme != "all") return std::nullopt;
  // Few blocks, so that they come round often and the pool is often short.
  for (const std::int64_t total : {12, 300}) {
    Pool pool(total, threads);
    const std::string wrong = stress(pool, total, threads, rounds, 5);
    if (!wrong.empty()) return std::string(Pool::name) + ": " + wrong;
    if (pool.stranded() > threads * 2 * MagazinePool::default_size) return "too many stranded";
  }
  return "";
}

template <class... Pools>
std::string hammer_one_of(const std::string& scheme, int threads, long rounds) {
  std::string wrong = "no such scheme";
  bool known = false;
  const auto take_in = [&](std::optional<std::string> found) {
    if (!found) return;
    if (!known || wrong.empty()) wrong = *found;
    known = true;
  };
  (take_in(hammer<Pools>(scheme, threads, rounds)), ...);
  return wrong;
}

}  // namespace

int main(int count, char** words) {
  const std::string what = count > 1 ? words[1] : "all";
  const int threads = count > 2 ? std::atoi(words[2]) : 4;
  const long rounds = count > 3 ? std::atol(words[3]) : 20'000;
  std::string wrong;
  if (what == "aba-untagged") {
    wrong = aba_untagged();
  } else if (what == "aba-tagged") {
    wrong = aba_tagged();
  } else if (what == "lost-check") {
    wrong = lost_check();
  } else if (what == "race") {
    wrong = race();
  } else if (what == "throwing") {
    wrong = throwing(threads);
  } else {
    wrong = hammer_one_of<MutexPool, SpinPool, AdaptivePool, TreiberPool, MagazinePool>(
        what, threads, rounds);
  }
  std::puts(wrong.empty() ? "ok" : wrong.c_str());
  return wrong.empty() ? 0 : 1;
}
