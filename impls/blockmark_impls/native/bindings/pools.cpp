// The pools alone, as Python classes.
#include <nanobind/nanobind.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <vector>

#include "../op.hpp"
#include "../pools/list.hpp"
#include "../pools/lru.hpp"
#include "../pools/stack.hpp"
#include "bind_replay.hpp"
#include "python.hpp"

namespace blockmark {

namespace {

template <FreePool Pool>
class PoolTarget {
 public:
  using id_type = typename Pool::id_type;

  static constexpr OpSet served = pool_ops;

  explicit PoolTarget(std::int64_t total_blocks) : total_(checked(total_blocks)), pool_(total_) {}

  Pool& pool() { return pool_; }
  std::int64_t num_free() const { return pool_.num_free(); }
  std::int64_t total_blocks() const { return total_; }
  std::int64_t bytes() const { return pool_.bytes(); }

  // Only what any caller could get wrong without knowing the pool's insides; giving a
  // block twice is the caller's bug, which a stack cannot see.
  void check_given(const std::vector<std::int64_t>& ids) const {
    for (const std::int64_t id : ids) check_id(id);
    if (static_cast<std::int64_t>(ids.size()) > total_ - pool_.num_free()) {
      throw_value("more blocks are given back than were taken");
    }
  }
  void check_id(std::int64_t id) const {
    if (id < 0 || id >= total_) throw_value("there is no block " + std::to_string(id));
  }

 private:
  static std::int64_t checked(std::int64_t total_blocks) {
    Sizes{total_blocks, 1, 1, 1}.checked(id_limit<id_type>(), id_name<id_type>());
    return total_blocks;
  }

  std::int64_t total_;
  Pool pool_;
};

template <FreePool Pool>
void bind_pool(nb::module_& m, int bits) {
  using Id = typename Pool::id_type;
  using Bound = Replayable<PoolTarget<Pool>>;

  const std::string class_name = std::string("Pool_") + Pool::name + std::to_string(bits);
  nb::class_<Bound> cls(m, class_name.c_str());
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
  m.attr("_pools")[nb::make_tuple(Pool::name, bits)] = cls;
}

}  // namespace

void bind_pools(nb::module_& m) {
  bind_pool<ListPool<std::uint16_t>>(m, 16);
  bind_pool<ListPool<std::int32_t>>(m, 32);
  bind_pool<ListPool<std::uint64_t>>(m, 64);
  bind_pool<StackPool<std::uint16_t>>(m, 16);
  bind_pool<StackPool<std::uint32_t>>(m, 32);
  bind_pool<StackPool<std::uint64_t>>(m, 64);
  bind_pool<LruPool<std::int32_t>>(m, 32);
}

}  // namespace blockmark
