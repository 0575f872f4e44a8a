#include "false_sharing.hpp"

#include <thread>

#include "../clock.hpp"
#include "crew.hpp"

namespace blockmark {

double ping_pong_ns() {
  if (usable_processors().size() < 2) return -1.0;
  constexpr int tries = 100, trips = 200;
  alignas(apart) std::atomic<int> ball{0};
  // Beyond this the other one is not running: let it.
  const auto wait_for = [&](int side) {
    for (int i = 0; ball.load(std::memory_order_acquire) != side; ++i) {
      if (i > 20'000) std::this_thread::yield();
    }
  };
  double least = 0.0;
  run_crew(2, [&](int thread) {
    for (int one = 0; one < tries; ++one) {
      const std::int64_t start = now_ns();
      for (int trip = 0; trip < trips; ++trip) {
        wait_for(thread);
        ball.store(1 - thread, std::memory_order_release);
      }
      const double ns = static_cast<double>(now_ns() - start) / trips;
      if (thread == 0 && (one == 0 || ns < least)) least = ns;
    }
  });
  return least;
}

}  // namespace blockmark
