// operator new and delete of the whole module. They are bound to this module's own
// callers by -Wl,-Bsymbolic-functions: without it, a libstdc++ that was loaded globally
// first would serve the calls, and every count would be 0.
//
// Direct requests to the C heap are wrapped: the linker's --wrap (see CMakeLists.txt)
// turns every call of malloc in this module into one of __wrap_malloc, and __real_malloc
// into malloc. Nothing outside the module changes.
#include "allocations.hpp"

#include <cstdlib>
#include <new>

extern "C" {
void* __real_malloc(std::size_t size);
void* __real_calloc(std::size_t items, std::size_t size);
void* __real_realloc(void* memory, std::size_t size);
void* __real_aligned_alloc(std::size_t alignment, std::size_t size);
int __real_posix_memalign(void** memory, std::size_t alignment, std::size_t size);
void* __real_memalign(std::size_t alignment, std::size_t size);
char* __real_strdup(const char* text);
}

namespace {

// One word in the static TLS block: a call of __tls_get_addr for every allocation would
// be a cost that only the structures that allocate pay.
#if defined(__GLIBC__)
[[gnu::tls_model("initial-exec")]]
#endif
thread_local std::int64_t allocations = 0;

void* counted(std::size_t size) noexcept {
  ++allocations;
  return __real_malloc(size == 0 ? 1 : size);
}

void* counted(std::size_t size, std::align_val_t alignment) noexcept {
  ++allocations;
  const auto align = static_cast<std::size_t>(alignment);
  // aligned_alloc wants a whole number of alignments.
  const std::size_t rounded = (size + align - 1) / align * align;
  return rounded < size ? nullptr : __real_aligned_alloc(align, rounded == 0 ? align : rounded);
}

void* or_throw(void* memory) {
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

extern "C" {

void* __wrap_malloc(std::size_t size) {
  ++allocations;
  return __real_malloc(size);
}
void* __wrap_calloc(std::size_t items, std::size_t size) {
  ++allocations;
  return __real_calloc(items, size);
}
void* __wrap_realloc(void* memory, std::size_t size) {
  ++allocations;
  return __real_realloc(memory, size);
}
void* __wrap_aligned_alloc(std::size_t alignment, std::size_t size) {
  ++allocations;
  return __real_aligned_alloc(alignment, size);
}
int __wrap_posix_memalign(void** memory, std::size_t alignment, std::size_t size) {
  ++allocations;
  return __real_posix_memalign(memory, alignment, size);
}
void* __wrap_memalign(std::size_t alignment, std::size_t size) {
  ++allocations;
  return __real_memalign(alignment, size);
}
// The C library's own malloc serves it, which is not wrapped.
char* __wrap_strdup(const char* text) {
  ++allocations;
  return __real_strdup(text);
}

}  // extern "C"

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
  memory = std::malloc(1);
  asm volatile("" : "+r"(memory));
  std::free(memory);
  return heap_allocations() == before + 2;
}

}  // namespace blockmark
