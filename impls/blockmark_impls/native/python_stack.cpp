// The interpreter's frames are no part of its API: a version is known once a test was run on it.
#define Py_BUILD_CORE 1
#include <Python.h>

#include "python_stack.hpp"

#include <charconv>
#include <cstdint>
#include <string_view>

#if PY_VERSION_HEX >= 0x030B0000 && PY_VERSION_HEX < 0x030E0000 && !defined(Py_GIL_DISABLED) && \
    !defined(PYPY_VERSION) && __has_include(<internal/pycore_frame.h>)
#define BLOCKMARK_KNOWS_FRAMES 1
#include <internal/pycore_frame.h>
#else
#define BLOCKMARK_KNOWS_FRAMES 0
#endif

namespace blockmark {

const bool kKnowsPythonFrames = BLOCKMARK_KNOWS_FRAMES == 1;

#if BLOCKMARK_KNOWS_FRAMES

namespace {

using Frame = _PyInterpreterFrame;

class Text {
 public:
  Text(char* text, std::size_t room) : begin_(text), end_(text + room), at_(text) {}

  void add(std::string_view words) {
    for (const char one : words) add(one);
  }

  void add(int number) {
    char digits[12];
    const auto [last, error] = std::to_chars(digits, digits + sizeof digits, number);
    add(std::string_view(digits, static_cast<std::size_t>(last - digits)));
  }

  // False for what is no string.
  bool add(PyObject* string) {
    if (string == nullptr || !PyUnicode_CheckExact(string)) return false;
    const auto kind = PyUnicode_KIND(string);
    const void* data = PyUnicode_DATA(string);
    const Py_ssize_t length = PyUnicode_GET_LENGTH(string);
    for (Py_ssize_t i = 0; i < length && !full_; ++i) add_utf8(PyUnicode_READ(kind, data, i));
    return true;
  }

  std::size_t size() const { return full_ ? 0 : static_cast<std::size_t>(at_ - begin_); }
  bool full() const { return full_; }

 private:
  void add(char one) {
    if (at_ == end_) full_ = true;
    else *at_++ = one;
  }

  void add_utf8(Py_UCS4 point) {
    if (point < 0x80) return add(static_cast<char>(point));
    const int more = point < 0x800 ? 1 : point < 0x10000 ? 2 : 3;
    constexpr unsigned kFirst[] = {0, 0xC0, 0xE0, 0xF0};
    add(static_cast<char>(kFirst[more] | (point >> (6 * more))));
    for (int i = more - 1; i >= 0; --i) {
      add(static_cast<char>(0x80 | ((point >> (6 * i)) & 0x3F)));
    }
  }

  char* begin_;
  char* end_;
  char* at_;
  bool full_ = false;
};

// The first frame of a list, null if there is no such list.
Frame* innermost(PyThreadState* thread, int entries_out) {
#if PY_VERSION_HEX < 0x030D0000
  const _PyCFrame* entry = thread->cframe;
  for (; entry != nullptr && entries_out > 0; --entries_out) entry = entry->previous;
  return entry == nullptr ? nullptr : entry->current_frame;
#else
  // One list for all, of which the newest part is always set.
  return entries_out == 0 ? thread->current_frame : nullptr;
#endif
}

// From 3.12 on a frame of the interpreter's own stands where it was entered from C.
bool is_call(const Frame* frame) {
#if PY_VERSION_HEX < 0x030C0000
  return frame != nullptr;
#else
  return frame->owner != FRAME_OWNED_BY_CSTACK;
#endif
}

// False if this is no frame.
bool add_call(Text& text, const Frame* frame) {
#if PY_VERSION_HEX < 0x030D0000
  auto* code = frame->f_code;
  const auto* instruction = frame->prev_instr;
#else
  auto* code = reinterpret_cast<PyCodeObject*>(frame->f_executable);
  const auto* instruction = frame->instr_ptr;
#endif
  if (code == nullptr || reinterpret_cast<std::uintptr_t>(code) % alignof(PyCodeObject) != 0 ||
      !PyCode_Check(reinterpret_cast<PyObject*>(code))) {
    return false;
  }
  const auto before_first = reinterpret_cast<std::intptr_t>(_PyCode_CODE(code) - 1);
  const auto offset = reinterpret_cast<std::intptr_t>(instruction) - before_first;
  constexpr auto kUnit = static_cast<std::intptr_t>(sizeof(_Py_CODEUNIT));
  // The unit before the first is where a frame stands that has run nothing yet. Beyond the
  // last the interpreter would look for a line without an end.
  if (offset < 0 || offset > Py_SIZE(code) * kUnit) return false;
  text.add("  File \"");
  if (!text.add(code->co_filename)) return false;
  text.add("\", line ");
  const int line = PyCode_Addr2Line(code, static_cast<int>(offset - kUnit));
  if (line >= 0) text.add(line);
  else text.add("???");
  text.add(" in ");
  if (!text.add(code->co_name)) return false;
  text.add("\n");
  return true;
}

}  // namespace

std::size_t write_python_stack(PyThreadState* thread, int entries_out, char* room_begin,
                               std::size_t room) {
  Text text(room_begin, room);
  text.add("Stack (most recent call first):\n");
  const Frame* frame = innermost(thread, entries_out);
  if (frame == nullptr) return 0;
  // What is written fills the room in the end if the list never ends.
  for (; frame != nullptr && !text.full(); frame = frame->previous) {
    if (is_call(frame) && !add_call(text, frame)) return 0;
  }
  return text.size();
}

#else

std::size_t write_python_stack(PyThreadState*, int, char*, std::size_t) { return 0; }

#endif

}  // namespace blockmark
