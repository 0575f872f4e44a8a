// The mistake: one table for all sequences, a hash map from (sequence, logical block) to
// physical block. Every sequence's entries lie among those of all others, so a lookup is a
// search, and a sequence that ends has to be found entry by entry.
//
// Open addressing, at most half full. A new entry is made in two steps, as any such map
// makes it: find a place, write into it. Two updates whose steps mix without a lock can
// find the same place, and the second then overwrites the first, which no table of a
// sequence's own can suffer from another sequence.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "../contract.hpp"

namespace blockmark {

class SharedTable {
 public:
  using id_type = std::int32_t;
  static constexpr const char* name = "shared";

  explicit SharedTable(const Sizes& sizes)
      : spans_(static_cast<std::size_t>(sizes.max_seqs)), places_(initial_places) {}

  id_type get(std::int64_t seq, std::int64_t logical) const {
    return places_[static_cast<std::size_t>(find(seq, logical))].id;
  }
  void begin(std::int64_t seq, std::int64_t first, std::int64_t) { span(seq) = {first, first}; }
  void append(std::int64_t seq, std::int64_t logical, id_type id) {
    make_room();
    put(find(seq, logical), seq, logical, id);
    span(seq).end = logical + 1;
  }
  void replace(std::int64_t seq, std::int64_t logical, id_type id) {
    places_[static_cast<std::size_t>(find(seq, logical))].id = id;
  }
  void remove(std::int64_t seq, std::int64_t logical) {
    erase(find(seq, logical));
    Span& s = span(seq);
    logical + 1 == s.end ? --s.end : ++s.first;
  }
  void end(std::int64_t seq) {
    for (std::int64_t logical = span(seq).first; logical < span(seq).end; ++logical) {
      erase(find(seq, logical));
    }
    span(seq) = {};
  }
  std::int64_t bytes() const {
    return static_cast<std::int64_t>(places_.capacity() * sizeof(Place) +
                                     spans_.capacity() * sizeof(Span));
  }

  // The two steps of a new entry. find() gives the place of an entry, or the empty one
  // where it would go; it is right until another entry is made or goes.
  std::int64_t find(std::int64_t seq, std::int64_t logical) const {
    const std::uint64_t key = key_of(seq, logical);
    std::size_t at = home(key);
    while (places_[at].key != key && places_[at].key != empty) at = next(at);
    return static_cast<std::int64_t>(at);
  }
  void put(std::int64_t place, std::int64_t seq, std::int64_t logical, id_type id) {
    Place& p = places_[static_cast<std::size_t>(place)];
    if (p.key == empty) ++used_;
    p = {key_of(seq, logical), id};
  }
  // Whether find() may go on to be called: an empty place ends every search.
  bool has_room() const { return 2 * (used_ + 1) <= places_.size(); }
  std::int64_t num_places() const { return static_cast<std::int64_t>(places_.size()); }
  bool holds(std::int64_t seq, std::int64_t logical) const {
    return places_[static_cast<std::size_t>(find(seq, logical))].key != empty;
  }

 private:
  struct Place {
    std::uint64_t key = empty;
    id_type id = 0;
  };
  struct Span {
    std::int64_t first = 0, end = 0;
  };

  // No sequence has so many blocks that a key could be all ones.
  static constexpr std::uint64_t empty = ~std::uint64_t{0};
  static constexpr std::size_t initial_places = 1024;

  static std::uint64_t key_of(std::int64_t seq, std::int64_t logical) {
    return static_cast<std::uint64_t>(seq) << 32 | static_cast<std::uint32_t>(logical);
  }
  // Multiplicative hashing (Knuth): the topmost bits of the product by 2^64 / golden ratio,
  // as only those depend on all bits of the key, the sequence's included.
  std::size_t home(std::uint64_t key) const {
    return key * 0x9e3779b97f4a7c15u >> (64 - std::countr_zero(places_.size()));
  }
  std::size_t next(std::size_t at) const { return (at + 1) & (places_.size() - 1); }
  Span& span(std::int64_t seq) { return spans_[static_cast<std::size_t>(seq)]; }

  void make_room() {
    if (has_room()) return;
    std::vector<Place> old(2 * places_.size());
    old.swap(places_);
    for (const Place& p : old) {
      if (p.key == empty) continue;
      std::size_t at = home(p.key);
      while (places_[at].key != empty) at = next(at);
      places_[at] = p;
    }
  }

  // Entries behind the hole move up if the hole lies on their way from home.
  void erase(std::int64_t place) {
    auto hole = static_cast<std::size_t>(place);
    if (places_[hole].key == empty) return;
    const std::size_t mask = places_.size() - 1;
    for (std::size_t at = next(hole); places_[at].key != empty; at = next(at)) {
      if (((at - home(places_[at].key)) & mask) >= ((at - hole) & mask)) {
        places_[hole] = places_[at];
        hole = at;
      }
    }
    places_[hole].key = empty;
    --used_;
  }

  std::vector<Span> spans_;
  std::vector<Place> places_;
  std::size_t used_ = 0;
};

static_assert(BlockTable<SharedTable> && !PagedTable<SharedTable>);

}  // namespace blockmark
