// The pools alone, as Python classes.
#include <nanobind/nanobind.h>

#include <cstdint>
#include <string>

#include "../pools/bitmap.hpp"
#include "../pools/linked_list.hpp"
#include "../pools/list.hpp"
#include "../pools/lru.hpp"
#include "../pools/stack.hpp"
#include "bind_pool.hpp"

namespace blockmark {

namespace {

template <FreePool Pool>
void bind_pool(nb::module_& m, int bits) {
  using Bound = Replayable<PoolTarget<Pool>>;
  std::string class_name = std::string("Pool_") + Pool::name + std::to_string(bits);
  for (char& letter : class_name) {
    if (letter == '-') letter = '_';
  }
  m.attr("_pools")[nb::make_tuple(Pool::name, bits)] =
      bind_pool_class<Pool, Bound>(m, class_name.c_str());
}

}  // namespace

void bind_pools(nb::module_& m) {
  bind_pool<ListPool<std::uint16_t>>(m, 16);
  bind_pool<ListPool<std::int32_t>>(m, 32);
  bind_pool<ListPool<std::uint64_t>>(m, 64);
  bind_pool<StackPool<std::uint16_t>>(m, 16);
  bind_pool<StackPool<std::uint32_t>>(m, 32);
  bind_pool<StackPool<std::uint64_t>>(m, 64);
  bind_pool<LruPool<std::int32_t>>(m, 32);
  bind_pool<BitmapPool<std::uint16_t>>(m, 16);
  bind_pool<BitmapPool<std::uint32_t>>(m, 32);
  bind_pool<BitmapPool<std::uint64_t>>(m, 64);
  bind_pool<LinkedListPool<std::int32_t>>(m, 32);
  bind_pool<WideLinkedListPool<std::int32_t>>(m, 32);
}

}  // namespace blockmark
