// blockmark_impls._native: the module itself, and how classes are found in it.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <string>
#include <system_error>

#include "../contract.hpp"
#include "../replay.hpp"
#include "python.hpp"

namespace blockmark {

#define BIND(unit)                   \
  void bind_##unit(nb::module_& m); \
  void bind_##unit##_answers();
#include "managers.inc"
#undef BIND

namespace {

nb::object python_class(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::out_of_blocks: return contract_class("OutOfBlocks");
    case ErrorKind::sequence_too_long: return contract_class("SequenceTooLong");
    case ErrorKind::unknown_sequence: return contract_class("UnknownSequence");
    case ErrorKind::sequence_exists: return contract_class("SequenceExists");
    case ErrorKind::value: break;
  }
  return nb::borrow(PyExc_ValueError);
}

void translate(const std::exception_ptr& exception, void*) {
  try {
    std::rethrow_exception(exception);
  } catch (const Error& error) {
    PyErr_SetString(python_class(error.kind()).ptr(), error.what());
  } catch (const std::system_error& error) {
    // Of two arguments, so that Python's errno is set and the class is the fitting one.
    const nb::tuple arguments = nb::make_tuple(error.code().value(), error.what());
    PyErr_SetObject(PyExc_OSError, arguments.ptr());
  }
}

nb::object own(const char* attribute) {
  return nb::module_::import_("blockmark_impls._native").attr(attribute);
}

nb::object manager_class(const std::string& table, const std::string& pool, const std::string& refs,
                         int id_bits) {
  const nb::dict managers = nb::cast<nb::dict>(own("_managers"));
  const auto key = [&](int bits) { return nb::make_tuple(table, pool, refs, bits); };
  if (managers.contains(key(id_bits))) return managers[key(id_bits)];
  // A table that stores int32 whatever is asked for is compiled at that width alone.
  const bool known_width = id_bits == 16 || id_bits == 64;
  if (known_width && managers.contains(key(32)) && !managers.contains(key(80 - id_bits))) {
    return managers[key(32)];
  }
  throw_value("no manager " + table + " + " + pool + " with " + refs + " ref counts and " +
              std::to_string(id_bits) + "-bit ids was compiled");
}

// (table, pool, ref counts, id bits, reuse order) of every manager.
nb::list combinations() {
  nb::list found;
  for (const auto& [key, manager] : nb::cast<nb::dict>(own("_managers"))) {
    found.append(key + nb::make_tuple(manager.attr("reuse_order")));
  }
  return found;
}

nb::object pool_class(const std::string& pool, int id_bits) {
  const nb::dict pools = nb::cast<nb::dict>(own("_pools"));
  const auto key = [&](int bits) { return nb::make_tuple(pool, bits); };
  if (pools.contains(key(id_bits))) return pools[key(id_bits)];
  // One that links int32 whatever is asked for is compiled at that width alone.
  const bool known_width = id_bits == 16 || id_bits == 64;
  if (known_width && pools.contains(key(32)) && !pools.contains(key(80 - id_bits))) {
    return pools[key(32)];
  }
  throw_value("no pool " + pool + " with " + std::to_string(id_bits) + "-bit ids was compiled");
}

nb::dict build_info() {
  nb::dict info;
#if defined(__clang__)
  info["compiler"] = "clang++ " __clang_version__;
#else
  info["compiler"] = "g++ " BLOCKMARK_COMPILER_VERSION;
#endif
  info["flags"] = BLOCKMARK_FLAGS;
  info["cxx_standard"] = static_cast<int>(__cplusplus / 100 % 100);
  info["build_type"] = BLOCKMARK_BUILD_TYPE;
  return info;
}

}  // namespace

}  // namespace blockmark

NB_MODULE(_native, m) {
  namespace nb = nanobind;
  using namespace blockmark;

  nb::register_exception_translator(translate);
  m.attr("REPLAY_VERSION") = replay_version;
  m.attr("_managers") = nb::dict();
  m.attr("_pools") = nb::dict();
  m.def("build_info", &build_info);
  m.attr("link_flags") = BLOCKMARK_LINK_FLAGS;
  m.def("manager_class", &manager_class, nb::arg("table"), nb::arg("pool"),
        nb::arg("refs") = "array", nb::arg("id_bits") = 32);
  m.def("combinations", &combinations);
  m.def("pool_class", &pool_class, nb::arg("pool"), nb::arg("id_bits") = 32);

  bind_measuring(m);
  bind_counting(m);
  bind_pacing(m);
  bind_pools(m);
  bind_contention(m);
  bind_controls(m);
  bind_mistakes(m);
  bind_layouts(m);
#define BIND(unit) \
  bind_##unit(m);  \
  bind_##unit##_answers();
#include "managers.inc"
#undef BIND
}
