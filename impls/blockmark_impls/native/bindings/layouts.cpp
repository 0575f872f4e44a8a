// Layouts of block tables: rows beside cache lines, and the forms of a packed batch.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>

#include <cstdint>
#include <string>
#include <utility>

#include "../layouts/packing.hpp"
#include "../layouts/rows.hpp"
#include "python.hpp"

namespace blockmark {

namespace {

using ReadIds = nb::ndarray<const std::uint16_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using ReadInts = nb::ndarray<const std::int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using WriteInts = nb::ndarray<std::int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

std::int64_t checked_count(std::int64_t count) {
  if (count < 0) throw_value("a count must not be negative");
  return count;
}

template <class Slab>
std::int64_t checked_row(const Slab& slab, std::int64_t row) {
  if (row < 0 || row >= slab.rows()) throw_value("there is no row " + std::to_string(row));
  return row;
}

template <std::unsigned_integral Id>
void bind_rows(nb::module_& m, const char* name) {
  using Slab = RowSlab<Id>;
  using Int = std::int64_t;
  using nb::arg;
  nb::class_<Slab> cls(m, name);
  cls.def(nb::init<Int, Int>(), arg("rows"), arg("offset"))
      .def_prop_ro("rows", &Slab::rows)
      .def_prop_ro("bytes", &Slab::bytes)
      .def(
          "address", [](const Slab& self, Int row) { return self.address(checked_row(self, row)); },
          arg("row"))
      .def(
          "lines_of",
          [](const Slab& self, Int row) { return self.lines_of(checked_row(self, row)); },
          arg("row"))
      .def("lines_of_all", &Slab::lines_of_all)
      .def(
          "time_entries",
          [](const Slab& self, Int count, std::uint64_t seed) {
            return self.time_entries(checked_count(count), seed);
          },
          arg("count"), arg("seed"))
      .def(
          "time_rows",
          [](const Slab& self, Int count, std::uint64_t seed) {
            return self.time_rows(checked_count(count), seed);
          },
          arg("count"), arg("seed"))
      .def(
          "time_loads",
          [](const Slab& self, Int count, std::uint64_t seed) {
            return self.time_loads(checked_count(count), seed);
          },
          arg("count"), arg("seed"))
      .def(
          "time_packing",
          [](const Slab& self, Int count, std::uint64_t seed) {
            return self.time_packing(checked_count(count), seed);
          },
          arg("count"), arg("seed"))
      .def(
          "row",
          [](const Slab& self, Int row) {
            nb::list ids;
            for (Int i = 0; i < Slab::row_ids; ++i) ids.append(self.entry(checked_row(self, row), i));
            return ids;
          },
          arg("row"))
      .def(
          "packed_row",
          [](const Slab& self, Int row) {
            std::int32_t out[Slab::row_ids];
            self.pack_row(checked_row(self, row), out);
            nb::list ids;
            for (const std::int32_t id : out) ids.append(id);
            return ids;
          },
          arg("row"));
  cls.attr("row_ids") = Slab::row_ids;
}

void bind_packing(nb::module_& m) {
  using nb::arg;
  nb::class_<PackBatch>(m, "PackBatch")
      .def(
          "__init__",
          [](PackBatch* self, ReadIds table, ReadInts lengths, ReadInts changed) {
            if (lengths.shape(0) != table.shape(0)) throw_value("a length for each row");
            new (self) PackBatch(table.data(), static_cast<std::int64_t>(table.shape(0)),
                                 static_cast<std::int64_t>(table.shape(1)), lengths.data(),
                                 changed.data(), static_cast<std::int64_t>(changed.shape(0)));
          },
          arg("table").noconvert(), arg("lengths").noconvert(), arg("changed").noconvert())
      .def(
          "write",
          [](PackBatch& self, const std::string& form) {
            const Sent sent = self.write(PackBatch::form_of(form));
            return std::pair(sent.bytes, sent.copies);
          },
          arg("form"))
      .def(
          "timed",
          [](PackBatch& self, const std::string& form, std::int64_t batches) {
            return self.timed(PackBatch::form_of(form), checked_count(batches));
          },
          arg("form"), arg("batches"))
      .def(
          "read",
          [](const PackBatch& self, WriteInts out) {
            if (static_cast<std::int64_t>(out.shape(0)) > self.out().size()) {
              throw_value("out is longer than what is kept");
            }
            std::copy_n(self.out().data(), out.shape(0), out.data());
          },
          arg("out").noconvert());
}

}  // namespace

void bind_layouts(nb::module_& m) {
  bind_rows<std::uint16_t>(m, "RowSlab16");
  bind_rows<std::uint32_t>(m, "RowSlab32");
  bind_rows<std::uint64_t>(m, "RowSlab64");
  bind_packing(m);
}

}  // namespace blockmark
