// A fixed array on a cache line boundary. Filled when it is made, so that its pages
// are mapped before any clock starts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include "contract.hpp"

namespace blockmark {

inline constexpr std::size_t cache_line = 64;

template <class T>
class AlignedArray {
  static_assert(std::is_trivially_destructible_v<T>, "no destructor of an item is called");

 public:
  AlignedArray() = default;
  AlignedArray(AlignedArray&& other) noexcept
      : items_(std::move(other.items_)), size_(std::exchange(other.size_, 0)) {}
  AlignedArray& operator=(AlignedArray&& other) noexcept {
    items_ = std::move(other.items_);
    size_ = std::exchange(other.size_, 0);
    return *this;
  }

  // Throws std::bad_alloc, and Error(value) if the size in bytes is no number.
  AlignedArray(std::int64_t size, T value) : size_(size) {
    std::int64_t bytes = 0;
    if (size < 0 || __builtin_mul_overflow(size, static_cast<std::int64_t>(sizeof(T)), &bytes)) {
      throw_value("an array of " + std::to_string(size) + " items is too large");
    }
    items_.reset(static_cast<T*>(
        ::operator new(static_cast<std::size_t>(bytes), std::align_val_t{cache_line})));
    std::uninitialized_fill_n(items_.get(), size, value);
  }

  T* data() { return items_.get(); }
  const T* data() const { return items_.get(); }
  T& operator[](std::int64_t i) { return items_.get()[i]; }
  const T& operator[](std::int64_t i) const { return items_.get()[i]; }
  std::int64_t size() const { return size_; }
  std::int64_t bytes() const { return size_ * static_cast<std::int64_t>(sizeof(T)); }

 private:
  struct Release {
    void operator()(T* items) const { ::operator delete(items, std::align_val_t{cache_line}); }
  };
  std::unique_ptr<T, Release> items_;
  std::int64_t size_ = 0;
};

}  // namespace blockmark
