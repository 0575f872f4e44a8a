#include <Python.h>

#include "stack_samples.hpp"

#include <cerrno>
#include <csetjmp>
#include <csignal>
#include <pthread.h>
#include <unistd.h>

#include "contract.hpp"
#include "python_stack.hpp"

namespace blockmark {

namespace {

constexpr int kFaults[] = {SIGSEGV, SIGBUS};

bool started = false;
int out = -1;
struct sigaction alarm_before;
struct sigaction faults_before[2];

// Plain globals, not thread-local: a signal must not be the first to touch those. So one
// thread is sampled, and a signal that meets another one is let go.
pthread_t sampled;
sigjmp_buf way_out;
volatile std::sig_atomic_t walking = 0;
volatile std::sig_atomic_t lost = 0;
// A thousand calls with long names. Made at the first start, and kept.
constexpr std::size_t kRoom = 256 << 10;
char* text = nullptr;

// Bytes of text; 0 also if a fault ended the walk.
std::size_t walk(PyThreadState* thread, int entries_out) {
  if (sigsetjmp(way_out, 1) != 0) {
    walking = 0;
    return 0;
  }
  walking = 1;
  const std::size_t length = write_python_stack(thread, entries_out, text, kRoom);
  walking = 0;
  return length;
}

void on_alarm(int) {
  if (!pthread_equal(pthread_self(), sampled)) return;
  const int before = errno;
  std::size_t length = 0;
  if (PyThreadState* thread = PyGILState_GetThisThreadState()) {
    length = walk(thread, 0);
    if (length == 0) length = walk(thread, 1);
  }
  // Nothing can be done here about a full disk; the text then ends early.
  if (length == 0 || write(out, text, length) < 0) lost = lost + 1;
  errno = before;
}

void on_fault(int number) {
  if (walking && pthread_equal(pthread_self(), sampled)) siglongjmp(way_out, 1);
  // Somebody else's: it happens again on return, and then goes where it would have gone.
  sigaction(number, &faults_before[number == kFaults[1]], nullptr);
}

struct sigaction handler(void (*function)(int)) {
  struct sigaction action {};
  sigemptyset(&action.sa_mask);
  action.sa_handler = function;
  action.sa_flags = SA_RESTART;
  return action;
}

}  // namespace

void stack_samples_start(int fd) {
  if (started) throw_value("stacks are being sampled already");
  if (!kKnowsPythonFrames) throw_value("the frames of this interpreter are not known");
  if (text == nullptr) text = new char[kRoom];
  started = true;
  out = fd;
  lost = 0;
  sampled = pthread_self();
  const struct sigaction faulting = handler(on_fault);
  for (int i = 0; i < 2; ++i) sigaction(kFaults[i], &faulting, &faults_before[i]);
  const struct sigaction alarmed = handler(on_alarm);
  sigaction(SIGALRM, &alarmed, &alarm_before);
}

std::int64_t stack_samples_stop() {
  if (!started) throw_value("stacks are not being sampled");
  started = false;
  sigaction(SIGALRM, &alarm_before, nullptr);
  for (int i = 0; i < 2; ++i) sigaction(kFaults[i], &faults_before[i], nullptr);
  return lost;
}

}  // namespace blockmark
