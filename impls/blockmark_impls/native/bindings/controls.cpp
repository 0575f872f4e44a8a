// The controls: the null manager and the floors on plain memory.
#include "../controls/null.hpp"
#include "../controls/raw_array.hpp"
#include "bind_manager.hpp"

namespace blockmark {

namespace {

void bind_null(nb::module_& m) {
  using Bound = BoundManager<NullManager>;
  nb::class_<Bound> cls = bind_manager_class<Bound>(m, "NullManager");
  bind_answers(cls);
  set_declared(cls, NullPool::reuse_order, "none", false);
  m.attr("null_manager_class") = cls;
}

template <std::unsigned_integral Id>
void bind_raw(nb::module_& m, const char* name) {
  using Bound = Replayable<RawArray<Id>>;
  nb::class_<Bound> cls(m, name);
  bind_init(cls);
  bind_replay(cls);
  bind_answers(cls);
  cls.def_prop_ro("num_free_blocks", [](const Bound& self) { return self.target.num_free(); });
  cls.def_prop_ro("row_pad", [](const Bound& self) { return self.target.row_pad(); });
  cls.def("table_bytes", [](const Bound& self) { return self.target.table_bytes(); });
  cls.def("pool_bytes", [](const Bound& self) { return self.target.pool_bytes(); });
}

nb::object raw_array(nb::handle total_blocks, nb::handle block_size, nb::handle max_seqs,
                     nb::handle max_blocks_per_seq, int id_bits, nb::handle row_pad) {
  const Sizes sizes =
      sizes_argument(total_blocks, block_size, max_seqs, max_blocks_per_seq, row_pad);
  const auto make = [&]<class Id>(Id) {
    return nb::cast(new Replayable<RawArray<Id>>(sizes), nb::rv_policy::take_ownership);
  };
  switch (id_bits) {
    case 16: return make(std::uint16_t{});
    case 32: return make(std::uint32_t{});
    case 64: return make(std::uint64_t{});
    default: throw_value("id_bits must be 16, 32 or 64, not " + std::to_string(id_bits));
  }
}

}  // namespace

void bind_controls(nb::module_& m) {
  bind_null(m);
  bind_raw<std::uint16_t>(m, "RawArray16");
  bind_raw<std::uint32_t>(m, "RawArray32");
  bind_raw<std::uint64_t>(m, "RawArray64");
  m.def("RawArray", &raw_array, nb::arg("total_blocks"), nb::arg("block_size"),
        nb::arg("max_seqs"), nb::arg("max_blocks_per_seq"), nb::arg("id_bits"), nb::kw_only(),
        nb::arg("row_pad") = nb::none());
}

}  // namespace blockmark
