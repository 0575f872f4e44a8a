// A pool alone as a Python class.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <string>
#include <vector>

#include "../pool_target.hpp"
#include "bind_replay.hpp"
#include "python.hpp"

namespace blockmark {

// Bound is, or derives from, a Replayable<PoolTarget<Pool>>.
template <FreePool Pool, class Bound>
nb::class_<Bound> bind_pool_class(nb::module_& m, const char* class_name) {
  using Id = typename Pool::id_type;

  nb::class_<Bound> cls(m, class_name);
  cls.def(
      "__init__",
      [](Bound* self, nb::handle total_blocks) {
        new (self) Bound(size_argument(total_blocks, "total_blocks"));
      },
      nb::arg("total_blocks"));
  cls.def(
      "take",
      [](Bound& self, std::int64_t k) {
        if (k < 0) throw_value("k must not be negative");
        if (k > self.target.num_free()) throw_out_of_blocks(k, self.target.num_free());
        nb::list ids;
        for (std::int64_t i = 0; i < k; ++i) ids.append(self.target.pool().take());
        return ids;
      },
      nb::arg("k"));
  cls.def(
      "give",
      [](Bound& self, const std::vector<std::int64_t>& ids) {
        self.target.check_given(ids);
        for (const std::int64_t id : ids) self.target.pool().give(static_cast<Id>(id));
      },
      nb::arg("ids"));
  if constexpr (requires(Pool pool, Id id) { pool.remove(id); }) {
    cls.def(
        "remove",
        [](Bound& self, std::int64_t id) {
          self.target.check_id(id);
          if (!self.target.pool().is_free(id)) {
            throw_value("block " + std::to_string(id) + " is not free");
          }
          self.target.pool().remove(static_cast<Id>(id));
        },
        nb::arg("id"));
  }
  cls.def_prop_ro("num_free", [](const Bound& self) { return self.target.num_free(); });
  cls.def("pool_bytes", [](const Bound& self) { return self.target.bytes(); });
  bind_replay(cls);
  cls.attr("reuse_order") = Pool::reuse_order;
  return cls;
}

}  // namespace blockmark
