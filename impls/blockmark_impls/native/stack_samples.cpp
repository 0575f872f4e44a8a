#include <Python.h>

#include "stack_samples.hpp"

#include <cerrno>
#include <csetjmp>
#include <csignal>
#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>

#include "contract.hpp"

namespace blockmark {

namespace {

using Dump = void (*)(int fd, PyThreadState* thread);

constexpr int kFaults[] = {SIGSEGV, SIGBUS};
constexpr char kLost[] = "\nLost\n";

bool started = false;
int out = -1;
// Where the interpreter exports it, the walk without its wrapper: a wrapper that was left by
// a jump believes itself busy ever after, and would write no more.
Dump dump = nullptr;
struct sigaction alarm_before;
struct sigaction faults_before[2];

// Plain globals, not thread-local: a signal must not be the first to touch those. So one
// thread is sampled, and a signal that meets another one is let go.
pthread_t sampled;
sigjmp_buf way_out;
volatile std::sig_atomic_t walking = 0;
volatile std::sig_atomic_t lost = 0;

void walk(int number) {
  if (dump == nullptr) {
    alarm_before.sa_handler(number);
  } else if (PyThreadState* thread = PyGILState_GetThisThreadState()) {
    dump(out, thread);
  }
}

void on_alarm(int number) {
  if (!pthread_equal(pthread_self(), sampled)) return;
  const int before = errno;
  if (sigsetjmp(way_out, 1) == 0) {
    walking = 1;
    walk(number);
    walking = 0;
  } else {
    walking = 0;
    lost = lost + 1;
    // Nothing can be done here about a full disk; the text then ends early.
    [[maybe_unused]] const auto written = write(out, kLost, sizeof kLost - 1);
  }
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
  sigaction(SIGALRM, nullptr, &alarm_before);
  if (alarm_before.sa_handler == SIG_DFL || alarm_before.sa_handler == SIG_IGN) {
    throw_value("no fault handler is registered for SIGALRM");
  }
  started = true;
  out = fd;
  lost = 0;
  sampled = pthread_self();
  dump = reinterpret_cast<Dump>(dlsym(RTLD_DEFAULT, "_Py_DumpTraceback"));
  const struct sigaction faulting = handler(on_fault);
  for (int i = 0; i < 2; ++i) sigaction(kFaults[i], &faulting, &faults_before[i]);
  const struct sigaction alarmed = handler(on_alarm);
  sigaction(SIGALRM, &alarmed, nullptr);
}

std::int64_t stack_samples_stop() {
  if (!started) throw_value("stacks are not being sampled");
  started = false;
  sigaction(SIGALRM, &alarm_before, nullptr);
  for (int i = 0; i < 2; ++i) sigaction(kFaults[i], &faults_before[i], nullptr);
  return lost;
}

}  // namespace blockmark
