#include <Python.h>

#include "python_allocations.hpp"

#include "contract.hpp"

namespace blockmark {

namespace {

// Both domains are used with the interpreter's lock held, so a plain number will do.
std::int64_t requests = 0;
bool installed = false;
PyMemAllocatorEx object_below;
PyMemAllocatorEx mem_below;

void* count_malloc(void* below, std::size_t size) {
  ++requests;
  auto* next = static_cast<PyMemAllocatorEx*>(below);
  return next->malloc(next->ctx, size);
}

void* count_calloc(void* below, std::size_t items, std::size_t size) {
  ++requests;
  auto* next = static_cast<PyMemAllocatorEx*>(below);
  return next->calloc(next->ctx, items, size);
}

void* count_realloc(void* below, void* memory, std::size_t size) {
  ++requests;
  auto* next = static_cast<PyMemAllocatorEx*>(below);
  return next->realloc(next->ctx, memory, size);
}

void pass_free(void* below, void* memory) {
  auto* next = static_cast<PyMemAllocatorEx*>(below);
  next->free(next->ctx, memory);
}

void install(PyMemAllocatorDomain domain, PyMemAllocatorEx& below) {
  PyMem_GetAllocator(domain, &below);
  PyMemAllocatorEx hook{&below, count_malloc, count_calloc, count_realloc, pass_free};
  PyMem_SetAllocator(domain, &hook);
}

}  // namespace

void python_allocations_start() {
  if (installed) throw_value("Python allocations are being counted already");
  install(PYMEM_DOMAIN_OBJ, object_below);
  install(PYMEM_DOMAIN_MEM, mem_below);
  installed = true;
  requests = 0;
}

std::int64_t python_allocations_stop() {
  if (!installed) throw_value("Python allocations are not being counted");
  const std::int64_t counted = requests;
  PyMem_SetAllocator(PYMEM_DOMAIN_OBJ, &object_below);
  PyMem_SetAllocator(PYMEM_DOMAIN_MEM, &mem_below);
  installed = false;
  return counted;
}

}  // namespace blockmark
