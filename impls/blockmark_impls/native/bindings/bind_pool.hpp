// A pool alone as a Python class.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <string>
#include <vector>

#include "../pool_target.hpp"
#include "bind_free_space.hpp"
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
        std::vector<Id> taken(static_cast<std::size_t>(k));
        // As the replay does, but for one block, which managers take by itself.
        if constexpr (BatchPool<Pool>) {
          if (k == 1) {
            taken[0] = self.target.pool().take();
          } else {
            self.target.pool().take(k, taken.data());
          }
        } else {
          for (Id& id : taken) id = self.target.pool().take();
        }
        nb::list ids;
        for (const Id id : taken) ids.append(id);
        return ids;
      },
      nb::arg("k"));
  cls.def(
      "give",
      [](Bound& self, const std::vector<std::int64_t>& ids) {
        self.target.check_given(ids);
        if constexpr (BatchPool<Pool>) {
          if (ids.size() != 1) {
            const std::vector<Id> given(ids.begin(), ids.end());
            self.target.pool().give(given.data(), static_cast<std::int64_t>(given.size()));
            return;
          }
        }
        for (const std::int64_t id : ids) self.target.pool().give(static_cast<Id>(id));
      },
      nb::arg("ids"));
  bind_free_space<Pool>(cls);
  cls.def_prop_ro("num_free", [](const Bound& self) { return self.target.num_free(); });
  cls.def("pool_bytes", [](const Bound& self) { return self.target.bytes(); });
  bind_replay(cls);
  bind_answers(cls);
  cls.attr("reuse_order") = static_cast<const char*>(Pool::reuse_order);
  return cls;
}

}  // namespace blockmark
