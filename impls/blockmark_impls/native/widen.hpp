// A row of ids as int32, as kernels take them: the one loop for it.
#pragma once

#include <concepts>
#include <cstdint>
#include <cstring>

namespace blockmark {

// Neither check nor call, so it is vectorised; ids that are int32 already are copied. Others
// go in chunks of 64 because the exit of a loop of 32 short turns is mispredicted once a row,
// which made the packing of full rows up to 1.8 times as slow.
template <std::integral Id>
[[gnu::always_inline]] inline void widen(const Id* ids, std::int64_t count,
                                         std::int32_t* __restrict out) {
  if constexpr (sizeof(Id) == sizeof(std::int32_t)) {
    std::memcpy(out, ids, static_cast<std::size_t>(count) * sizeof(Id));
  } else {
    constexpr std::int64_t chunk = 64;
    std::int64_t at = 0;
    for (; at + chunk <= count; at += chunk) {
      for (std::int64_t i = 0; i < chunk; ++i) out[at + i] = static_cast<std::int32_t>(ids[at + i]);
    }
    for (; at < count; ++at) out[at] = static_cast<std::int32_t>(ids[at]);
  }
}

}  // namespace blockmark
