// The pools alone, as Python classes.
#include <nanobind/nanobind.h>

#include <cstdint>
#include <string>

#include "bind_pool.hpp"
#include "pool_headers.hpp"

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
#define BIND_POOL(Pool, bits) bind_pool<Pool>(m, bits);
#include "pools.inc"
#undef BIND_POOL
}

}  // namespace blockmark
