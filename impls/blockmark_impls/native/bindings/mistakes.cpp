// Managers that are wrong on purpose, and the loop that copies blocks as they ask for it.
#include <nanobind/nanobind.h>
#include <nanobind/stl/tuple.h>

#include <cstdint>
#include <string>
#include <tuple>

#include "../mistakes/allocating_append.hpp"
#include "../mistakes/append_loop.hpp"
#include "../mistakes/copy_by_number.hpp"
#include "../mistakes/copy_per_sequence.hpp"
#include "../mistakes/right.hpp"
#include "../mistakes/searching_pool.hpp"
#include "../mistakes/shared_table.hpp"
#include "bind_manager.hpp"

namespace blockmark {

namespace {

using SharedTableManager = Manager<SharedTable, StackPool<std::int32_t>, ArrayRefCounts>;

class SearchingManager
    : public Manager<FlatTable<std::uint16_t>, SearchingPool<std::uint16_t>, ArrayRefCounts> {
 public:
  using Manager::Manager;
};

template <class Wrong>
nb::class_<BoundManager<Wrong>> bind_mistake(nb::module_& m, const char* name,
                                             const char* reuse_order) {
  nb::class_<BoundManager<Wrong>> cls(m, name);
  bind_init(cls);
  bind_changes(cls);
  bind_reads(cls);
  bind_replay(cls);
  bind_answers(cls);
  set_declared(cls, reuse_order, id_name<typename Wrong::id_type>(), true);
  return cls;
}

// (ns, copies, most blocks held beyond those in use)
template <class Any>
void bind_append_loop(nb::module_& m) {
  m.def(
      "append_loop",
      [](BoundManager<Any>& self, ReadArray seqs, std::int64_t steps, PayloadArena& arena) {
        if (steps < 0) throw_value("steps must not be negative");
        const Appended done = append_loop(self.target, seqs.data(),
                                          static_cast<std::int64_t>(seqs.shape(0)), steps, arena);
        return std::tuple(done.ns, done.copies, done.most_extra);
      },
      nb::arg("manager"), nb::arg("seqs").noconvert(), nb::arg("steps"), nb::arg("arena"));
}

void bind_shared_table_alone(nb::module_& m) {
  using nb::arg;
  using Int = std::int64_t;
  nb::class_<SharedTable>(m, "SharedTable")
      .def(
          "__init__",
          [](SharedTable* self, nb::handle max_seqs) {
            const Int slots = size_argument(max_seqs, "max_seqs");
            new (self) SharedTable(Sizes{1, 1, slots, 1}.checked(1, "block"));
          },
          arg("max_seqs"))
      .def(
          "find", [](const SharedTable& self, Int seq, Int logical) { return self.find(seq, logical); },
          arg("seq"), arg("logical"))
      .def(
          "put",
          [](SharedTable& self, Int place, Int seq, Int logical, std::int32_t block) {
            if (place < 0 || place >= self.num_places()) throw_value("there is no such place");
            if (!self.has_room()) throw_value("the table is half full, and grows in append alone");
            self.put(place, seq, logical, block);
          },
          arg("place"), arg("seq"), arg("logical"), arg("block"))
      .def(
          "get",
          [](const SharedTable& self, Int seq, Int logical) -> nb::object {
            if (!self.holds(seq, logical)) return nb::none();
            return nb::cast(self.get(seq, logical));
          },
          arg("seq"), arg("logical"));
}

}  // namespace

void bind_mistakes(nb::module_& m) {
  const auto by_number = bind_mistake<CopyByNumberManager>(m, "CopyByNumber", "unspecified");
  // What a batch needs is foretold by the right rule, which this one does not keep.
  nb::delattr(by_number, "append_slots");
  bind_mistake<SharedTableManager>(m, "SharedTableManager", "LIFO");
  bind_mistake<AllocatingManager>(m, "AllocatingAppend", "LIFO");
  bind_mistake<SearchingManager>(m, "SearchingPool", "lowest")
      .def_prop_ro("search_length", [](const BoundManager<SearchingManager>& self) {
        return self.target.pool().search_length();
      });
  bind_mistake<CopyPerSequenceManager>(m, "CopyPerSequence", "LIFO")
      .def_prop_ro("copies_sent", [](const BoundManager<CopyPerSequenceManager>& self) {
        return self.target.copies_sent();
      });
  bind_shared_table_alone(m);

  nb::class_<PayloadArena>(m, "PayloadArena")
      .def(
          "__init__",
          [](PayloadArena* self, nb::handle payload, nb::handle bytes) {
            new (self) PayloadArena(size_argument(payload, "payload"), size_argument(bytes, "bytes"));
          },
          nb::arg("payload"), nb::arg("bytes"))
      .def_prop_ro("bytes", &PayloadArena::bytes);
  bind_append_loop<RightManager>(m);
  bind_append_loop<CopyByNumberManager>(m);
}

}  // namespace blockmark
