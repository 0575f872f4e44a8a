// operator new and delete of the whole module. They are bound to this module's own
// callers by -Wl,-Bsymbolic-functions: without it, a libstdc++ that was loaded globally
// first would serve the calls, and every count would be 0.
//
// A direct malloc is not seen; no structure here makes one.
#include "allocations.hpp"

#include <cstdlib>
#include <new>

namespace {

// One word in the static TLS block: a call of __tls_get_addr for every allocation would
// be a cost that only the structures that allocate pay.
#if defined(__GLIBC__)
[[gnu::tls_model("initial-exec")]]
#endif
thread_local std::int64_t allocations = 0;

void* counted(std::size_t size) noexcept {
  ++allocations;
  return std::malloc(size == 0 ? 1 : size);
}

void* counted(std::size_t size, std::align_val_t alignment) noexcept {
  ++allocations;
  const auto align = static_cast<std::size_t>(alignment);
  // aligned_alloc wants a whole number of alignments.
  const std::size_t rounded = (size + align - 1) / align * align;
  return rounded < size ? nullptr : std::aligned_alloc(align, rounded == 0 ? align : rounded);
}

void* or_throw(void* memory) {
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

void* operator new(std::size_t size) { return or_throw(counted(size)); }
void* operator new[](std::size_t size) { return or_throw(counted(size)); }
void* operator new(std::size_t size, const std::nothrow_t&) noexcept { return counted(size); }
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept { return counted(size); }
void* operator new(std::size_t size, std::align_val_t align) {
  return or_throw(counted(size, align));
}
void* operator new[](std::size_t size, std::align_val_t align) {
  return or_throw(counted(size, align));
}
void* operator new(std::size_t size, std::align_val_t align, const std::nothrow_t&) noexcept {
  return counted(size, align);
}
void* operator new[](std::size_t size, std::align_val_t align, const std::nothrow_t&) noexcept {
  return counted(size, align);
}

void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { std::free(memory); }
void operator delete[](void* memory, const std::nothrow_t&) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t, const std::nothrow_t&) noexcept {
  std::free(memory);
}
void operator delete[](void* memory, std::align_val_t, const std::nothrow_t&) noexcept {
  std::free(memory);
}

namespace blockmark {

std::int64_t heap_allocations() { return allocations; }

bool allocation_counter_works() {
  const std::int64_t before = heap_allocations();
  void* memory = ::operator new(1);
  asm volatile("" : "+r"(memory));
  ::operator delete(memory);
  return heap_allocations() == before + 1;
}

}  // namespace blockmark
