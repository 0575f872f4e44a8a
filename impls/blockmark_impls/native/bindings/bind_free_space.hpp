// What a pool alone answers about its free blocks, as methods of its Python class. A pool
// that has no way to an answer has no such method.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>

#include <bit>
#include <cstdint>
#include <optional>

#include "../contract.hpp"
#include "../free_words.hpp"
#include "python.hpp"

namespace blockmark {

template <FreePool Pool, class Bound>
void bind_free_space(nb::class_<Bound>& cls) {
  using Int = std::int64_t;
  using Id = typename Pool::id_type;
  if constexpr (RemovingPool<Pool>) {
    cls.def(
        "remove",
        [](Bound& self, Int id) {
          self.target.check_id(id);
          if (!self.target.pool().is_free(id)) {
            throw_value("block " + std::to_string(id) + " is not free");
          }
          self.target.pool().remove(static_cast<Id>(id));
        },
        nb::arg("id"));
  }
  if constexpr (Bound::Target::answers) {
    cls.def(
        "find_contiguous",
        [](Bound& self, Int k) -> std::optional<Int> {
          const Int first = self.target.find_contiguous(k);
          return first < 0 ? std::nullopt : std::optional<Int>(first);
        },
        nb::arg("k"));
    cls.def(
        "plan_compaction",
        [](Bound& self, Int blocks) {
          nb::list moves;
          const Int count = self.target.plan_compaction(blocks);
          for (const Move* move = self.target.moves(); move != self.target.moves() + count; ++move) {
            moves.append(contract_class("Copy")(move->src, move->dst));
          }
          return moves;
        },
        nb::arg("blocks"));
  }
}

}  // namespace blockmark
