#include "python.hpp"

#include <cstring>

#include "../contract.hpp"

namespace blockmark {

nb::object contract_class(const char* name) {
  // Kept on purpose for as long as the process runs.
  static PyObject* const contract =
      nb::module_::import_("blockmark_impls.contract").release().ptr();
  return nb::handle(contract).attr(name);
}

std::int64_t size_argument(nb::handle value, const char* name) {
  const nb::object number = nb::steal(PyNumber_Index(value.ptr()));
  if (!number.is_valid()) throw nb::python_error();
  int overflow = 0;
  const long long result = PyLong_AsLongLongAndOverflow(number.ptr(), &overflow);
  if (overflow != 0) throw_value(std::string(name) + " is absurdly large");
  if (result == -1 && PyErr_Occurred()) throw nb::python_error();
  return result;
}

void check_signals() {
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

Column::Column(nb::handle source, const char* name, char kind, std::size_t item_size) {
  if (PyObject_GetBuffer(source.ptr(), &view_, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT) != 0) {
    throw nb::python_error();
  }
  const char* format = view_.format == nullptr ? "B" : view_.format;
  if (*format == '@' || *format == '=' || *format == '<') ++format;
  const char* codes = kind == 'i' ? "bhilqn" : "BHILQN";
  const bool right_type = std::strlen(format) == 1 && std::strchr(codes, *format) != nullptr &&
                          static_cast<std::size_t>(view_.itemsize) == item_size;
  if (view_.ndim == 1 && right_type) return;
  const std::string wanted =
      (kind == 'i' ? "int" : "uint") + std::to_string(8 * item_size);
  const std::string message = std::string(name) + " must be a one-dimensional buffer of " + wanted;
  // The destructor does not run for an object whose constructor throws.
  PyBuffer_Release(&view_);
  throw_value(message);
}

}  // namespace blockmark
