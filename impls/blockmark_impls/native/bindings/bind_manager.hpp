// A compiled manager as a Python class: the contract's operations and the replays.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>

#include <cstdint>
#include <optional>
#include <string>

#include "../batch.hpp"
#include "../manager.hpp"
#include "../ref_counts.hpp"
#include "bind_replay.hpp"
#include "python.hpp"

namespace blockmark {

using ReadArray = nb::ndarray<const std::int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using WriteArray = nb::ndarray<std::int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using WriteRows = nb::ndarray<std::int32_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

template <class Manager>
struct BoundManager : Replayable<Manager> {
  explicit BoundManager(const Sizes& sizes)
      : Replayable<Manager>(sizes), batch_check(this->target) {}

  BatchCheck<Manager> batch_check;
};

// Python's arguments as Sizes; an absent row_pad is the structure's own choice.
inline Sizes sizes_argument(nb::handle total_blocks, nb::handle block_size, nb::handle max_seqs,
                            nb::handle max_blocks_per_seq, nb::handle row_pad) {
  Sizes sizes{size_argument(total_blocks, "total_blocks"), size_argument(block_size, "block_size"),
              size_argument(max_seqs, "max_seqs"),
              size_argument(max_blocks_per_seq, "max_blocks_per_seq")};
  if (!row_pad.is_none()) {
    sizes.row_pad = size_argument(row_pad, "row_pad");
    if (sizes.row_pad < 0) throw_value("row_pad must not be negative");
  }
  return sizes;
}

inline void check_length(std::size_t length, std::size_t wanted, const char* name) {
  if (length != wanted) {
    throw_value(std::string(name) + " has " + std::to_string(length) + " entries for " +
                std::to_string(wanted) + " sequences");
  }
}

inline nb::object make_copy(std::int64_t src, std::int64_t dst) {
  return contract_class("Copy")(src, dst);
}

template <class Bound>
void bind_init(nb::class_<Bound>& cls) {
  cls.def(
      "__init__",
      [](Bound* self, nb::handle total_blocks, nb::handle block_size, nb::handle max_seqs,
         nb::handle max_blocks_per_seq, nb::handle row_pad) {
        new (self) Bound(
            sizes_argument(total_blocks, block_size, max_seqs, max_blocks_per_seq, row_pad));
      },
      nb::arg("total_blocks"), nb::arg("block_size"), nb::arg("max_seqs"),
      nb::arg("max_blocks_per_seq"), nb::kw_only(), nb::arg("row_pad") = nb::none());
}

template <class Bound>
void bind_changes(nb::class_<Bound>& cls) {
  using nb::arg;
  using Int = std::int64_t;
  cls.def(
      "can_allocate",
      [](const Bound& self, Int n) -> bool { return self.target.can_allocate(n); },
      arg("num_blocks"));
  cls.def(
      "allocate", [](Bound& self, Int seq, Int tokens) { self.target.allocate(seq, tokens); },
      arg("seq"), arg("num_tokens"));
  cls.def(
      "append_slot",
      [](Bound& self, Int seq) {
        nb::object copy = nb::none();
        const auto on_copy = [&](Int src, Int dst) { copy = make_copy(src, dst); };
        self.target.append(seq, on_copy);
        return copy;
      },
      arg("seq"));
  cls.def(
      "extend",
      [](Bound& self, Int seq, Int tokens) {
        nb::list copies;
        const auto on_copy = [&](Int src, Int dst) { copies.append(make_copy(src, dst)); };
        self.target.extend(seq, tokens, on_copy);
        return copies;
      },
      arg("seq"), arg("num_tokens"));
  cls.def(
      "truncate", [](Bound& self, Int seq, Int tokens) { self.target.truncate(seq, tokens); },
      arg("seq"), arg("num_tokens"));
  cls.def(
      "drop_front", [](Bound& self, Int seq, Int blocks) { self.target.drop_front(seq, blocks); },
      arg("seq"), arg("num_blocks"));
  cls.def(
      "fork",
      [](Bound& self, Int parent, Int child, std::optional<Int> blocks) {
        blocks ? self.target.fork(parent, child, *blocks) : self.target.fork(parent, child);
      },
      arg("parent"), arg("child"), arg("num_blocks") = nb::none());
  cls.def(
      "free", [](Bound& self, Int seq) { self.target.free(seq); }, arg("seq"));
  cls.def(
      "append_slots",
      [](Bound& self, ReadArray seqs) {
        const auto count = static_cast<Int>(seqs.shape(0));
        if constexpr (BatchCheckable<typename Bound::Target>) {
          self.batch_check(self.target, seqs.data(), count);
        }
        nb::list copies;
        const auto on_copy = [&](Int src, Int dst) { copies.append(make_copy(src, dst)); };
        for (Int i = 0; i < count; ++i) self.target.append(seqs.data()[i], on_copy);
        return copies;
      },
      arg("seqs").noconvert());
}

template <class Bound>
void bind_reads(nb::class_<Bound>& cls) {
  using nb::arg;
  using Int = std::int64_t;
  cls.def(
      "lookup",
      [](const Bound& self, Int seq, Int logical) { return self.target.lookup(seq, logical); },
      arg("seq"), arg("logical"));
  cls.def(
      "lookup_slots",
      [](const Bound& self, ReadArray seqs, ReadArray logicals, WriteArray out) {
        check_length(logicals.shape(0), seqs.shape(0), "logicals");
        check_length(out.shape(0), seqs.shape(0), "out");
        for (std::size_t i = 0; i < seqs.shape(0); ++i) {
          out.data()[i] = static_cast<std::int32_t>(
              self.target.lookup(seqs.data()[i], logicals.data()[i]));
        }
      },
      arg("seqs").noconvert(), arg("logicals").noconvert(), arg("out").noconvert());
  cls.def(
      "ref_count",
      [](const Bound& self, Int block) -> std::int32_t { return self.target.ref_count(block); },
      arg("block"));
  cls.def(
      "num_tokens", [](const Bound& self, Int seq) -> Int { return self.target.num_tokens(seq); },
      arg("seq"));
  cls.def(
      "block_table",
      [](const Bound& self, Int seq) {
        nb::list blocks;
        const Sequence s = self.target.sequence(seq);
        for (Int logical = s.first; logical < s.end; ++logical) {
          blocks.append(self.target.lookup(seq, logical));
        }
        return blocks;
      },
      arg("seq"));
  cls.def(
      "write_block_tables",
      [](const Bound& self, ReadArray seqs, WriteRows out, WriteArray lengths) {
        check_length(out.shape(0), seqs.shape(0), "out");
        check_length(lengths.shape(0), seqs.shape(0), "lengths");
        if (self.target.sizes().total_blocks - 1 > std::numeric_limits<std::int32_t>::max()) {
          throw_value("block tables are int32, which cannot number all blocks");
        }
        self.target.write_block_tables(seqs.data(), static_cast<Int>(seqs.shape(0)), out.data(),
                                       static_cast<Int>(out.shape(1)), lengths.data());
      },
      arg("seqs").noconvert(), arg("out").noconvert(), arg("lengths").noconvert());
  cls.def_prop_ro("num_free_blocks",
                  [](const Bound& self) -> Int { return self.target.num_free(); });
  cls.def_prop_ro("usable_blocks",
                  [](const Bound& self) { return self.target.sizes().total_blocks; });
  cls.def("table_bytes", [](const Bound& self) -> Int { return self.target.table_bytes(); });
  cls.def("pool_bytes", [](const Bound& self) -> Int { return self.target.pool_bytes(); });
}

// The class attributes of the contract.
inline void set_declared(nb::handle cls, const char* reuse_order, const char* id_type,
                         bool ref_counts) {
  cls.attr("reuse_order") = reuse_order;
  cls.attr("profile") = contract_class("Profile")(nb::arg("ref_counts") = ref_counts,
                                                  nb::arg("id_type") = id_type);
}

// Bound is, or derives from, a BoundManager. What is missing is bind_answers.
template <class Bound>
nb::class_<Bound> bind_manager_class(nb::module_& m, const char* class_name) {
  nb::class_<Bound> cls(m, class_name);
  bind_init(cls);
  bind_changes(cls);
  bind_reads(cls);
  bind_replay(cls);
  return cls;
}

template <class Manager>
void bind_manager(nb::module_& m) {
  using Table = typename Manager::table_type;
  using Pool = typename Manager::pool_type;
  using Refs = typename Manager::refs_type;
  using Id = typename Manager::id_type;
  using Bound = BoundManager<Manager>;
  static_assert(BatchCheckable<Manager>);
  constexpr int bits = 8 * sizeof(Id);

  std::string class_name = std::string("Manager_") + Table::name + std::to_string(bits) + "_" +
                           Pool::name + "_" + Refs::name;
  for (char& letter : class_name) {
    if (letter == '-') letter = '_';
  }
  nb::class_<Bound> cls = bind_manager_class<Bound>(m, class_name.c_str());
  if constexpr (requires(const Table& table) { table.row_pad(); }) {
    cls.def_prop_ro("row_pad", [](const Bound& self) { return self.target.table().row_pad(); });
  }
  set_declared(cls, Pool::reuse_order, id_name<Id>(), true);
  m.attr("_managers")[nb::make_tuple(Table::name, Pool::name, Refs::name, bits)] = cls;
}

// One table and kind of ref counts with several pools, each at the table's id width.
template <BlockTable Table, RefCounting Refs, template <class> class... Pools>
void bind_managers(nb::module_& m) {
  (bind_manager<Manager<Table, Pools<typename Table::id_type>, Refs>>(m), ...);
}

// The rest of the same classes.
template <BlockTable Table, RefCounting Refs, template <class> class... Pools>
void bind_managers_answers() {
  const auto of = []<class Bound>(Bound*) {
    bind_answers(nb::borrow<nb::class_<Bound>>(nb::type<Bound>()));
  };
  (of(static_cast<BoundManager<Manager<Table, Pools<typename Table::id_type>, Refs>>*>(nullptr)),
   ...);
}

}  // namespace blockmark
