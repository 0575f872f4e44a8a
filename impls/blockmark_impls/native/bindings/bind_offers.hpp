// A user's classes as a module of their own, beside the core: the unit that build.py
// writes includes this, then the user's header, whose BLOCKMARK_ lines call what is here.
//
// Programs, histograms, evictors and regions are the core's, by way of nanobind, which
// knows them by name in every module of one nanobind version. The loop and all that it
// calls are compiled into the module. BLOCKMARK_BUILD names the build: classes of two
// builds in one process are never taken for each other.
#pragma once

#include <nanobind/nanobind.h>

#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "../blockmark.hpp"
#include "../pool_target.hpp"
#include "../pools/stack.hpp"
#include "../ref_counts.hpp"
#include "../tables/flat.hpp"
#include "bind_coverage.hpp"
#include "bind_manager.hpp"
#include "bind_pool.hpp"

namespace blockmark {

struct BLOCKMARK_BUILD;

template <class Build, class Manager>
struct OfferedManager : BoundManager<Manager> {
  using BoundManager<Manager>::BoundManager;
};

template <class Build, class Pool>
struct OfferedPool : Replayable<PoolTarget<Pool>> {
  using Replayable<PoolTarget<Pool>>::Replayable;
};

// What one line of a user's header offers, and how it becomes a Python class.
struct Offer {
  std::string written;  // the class, as the line has it
  void (*bind)(nb::module_& m, const std::string& name);
};

inline std::vector<Offer>& offers() {
  static std::vector<Offer> all;
  return all;
}

inline bool add_offer(const char* written, void (*bind)(nb::module_&, const std::string&)) {
  offers().push_back({written, bind});
  return true;
}

// The class without its namespaces and blanks: my::Pool<int> is Pool<int>.
inline std::string short_name(const std::string& written) {
  std::string name;
  int depth = 0;
  for (const char letter : written) {
    if (letter == ' ') continue;
    depth += letter == '<' ? 1 : letter == '>' ? -1 : 0;
    name += letter;
    if (depth == 0 && name.ends_with("::")) name.clear();
  }
  return name;
}

// The row of one offer in the module's `offers`: (kind, the structure's own name, reuse
// order, id type, manager class, pool class or None), by the class's name.
inline void enter(nb::module_& m, const std::string& name, const char* kind,
                  const char* structure, const char* reuse_order, const char* id_type,
                  nb::handle manager, nb::handle pool) {
  const nb::dict found = nb::cast<nb::dict>(m.attr("offers"));
  if (found.contains(name.c_str())) {
    throw_value("two classes are offered as " + name + "; give one another name");
  }
  found[name.c_str()] = nb::make_tuple(kind, structure, reuse_order, id_type, manager, pool);
}

template <class Manager>
nb::object offered_manager(nb::module_& m, const std::string& name, const char* reuse_order) {
  using Bound = OfferedManager<BLOCKMARK_BUILD, Manager>;
  static_assert(BatchCheckable<Manager>);
  nb::class_<Bound> cls = bind_manager_class<Bound>(m, name.c_str());
  bind_answers(cls);
  set_declared(cls, reuse_order, id_name<typename Manager::id_type>(), true);
  return cls;
}

template <class Pool>
bool offer_pool(const char* written) {
  if constexpr (FreePool<Pool>) {
    using Id = typename Pool::id_type;
    using TableId = std::make_unsigned_t<Id>;
    return add_offer(written, [](nb::module_& m, const std::string& name) {
      using Composed = Manager<FlatTable<TableId>, Pool, ArrayRefCounts>;
      const nb::object manager = offered_manager<Composed>(m, name, Pool::reuse_order);
      const nb::object pool = bind_pool_class<Pool, OfferedPool<BLOCKMARK_BUILD, Pool>>(
          m, (name + "_alone").c_str());
      enter(m, name, "pool", Pool::name, Pool::reuse_order, id_name<TableId>(), manager, pool);
    });
  }
  return false;
}

template <class Table>
bool offer_table(const char* written) {
  if constexpr (BlockTable<Table>) {
    using Id = typename Table::id_type;
    return add_offer(written, [](nb::module_& m, const std::string& name) {
      using Pool = StackPool<Id>;
      const nb::object manager = offered_manager<Manager<Table, Pool, ArrayRefCounts>>(
          m, name, Pool::reuse_order);
      enter(m, name, "table", Table::name, Pool::reuse_order, id_name<Id>(), manager,
            nb::none());
    });
  }
  return false;
}

template <class Whole>
bool offer_manager(const char* written) {
  if constexpr (WholeManager<Whole>) {
    using Id = typename Whole::id_type;
    return add_offer(written, [](nb::module_& m, const std::string& name) {
      const nb::object manager =
          offered_manager<Completed<Whole>>(m, name, Whole::reuse_order);
      enter(m, name, "manager", Whole::name, Whole::reuse_order, id_name<Id>(), manager,
            nb::none());
    });
  }
  return false;
}

inline void bind_offers(nb::module_& m) {
  // The errors and the loop's own types are the core's.
  nb::module_::import_("blockmark_impls._native");
  if (!nb::type<BoundProgram>().is_valid() || !nb::type<Histogram>().is_valid()) {
    throw_value("it was built with another nanobind or C++ library than the core");
  }
#ifdef BLOCKMARK_COVERAGE
  bind_coverage(m);
#endif
  m.attr("offers") = nb::dict();
  for (const Offer& offer : offers()) offer.bind(m, short_name(offer.written));
}

}  // namespace blockmark
