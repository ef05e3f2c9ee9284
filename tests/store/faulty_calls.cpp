#include "faulty_calls.hpp"

#include <atomic>
#include <cerrno>
#include <string_view>

#include <dlfcn.h>
#include <sys/types.h>
#include <time.h>

namespace skyline::testing {
namespace {

struct Plan {
  std::string call;
  int error = 0;
  int times = 0;
  int spared = 0;
  std::atomic<int> calls{0};
};
Plan plan;

/// Whether this call is to fail; then errno is set.
bool fails(std::string_view call) {
  if (plan.call != call) return false;
  const int number = plan.calls++;
  if (number < plan.spared || number >= plan.spared + plan.times) return false;
  errno = plan.error;
  return true;
}

template <typename Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

}  // namespace

FaultyCall::FaultyCall(const std::string& call, int error_number, int times, int spared) {
  plan.error = error_number;
  plan.times = times;
  plan.spared = spared;
  plan.calls = 0;
  plan.call = call;
}

FaultyCall::~FaultyCall() {
  plan.call.clear();
}

int FaultyCall::calls() const {
  return plan.calls;
}

}  // namespace skyline::testing

using skyline::testing::fails;
using skyline::testing::next;

// The program's own functions come before those of the C library.
extern "C" {
ssize_t pwrite(int file, const void* bytes, size_t size, off_t offset) {
  return fails("pwrite") ? -1 : next<decltype(pwrite)>("pwrite")(file, bytes, size, offset);
}
int fsync(int file) {
  return fails("fsync") ? -1 : next<decltype(fsync)>("fsync")(file);
}
int rename(const char* from, const char* to) noexcept {
  return fails("rename") ? -1 : next<int(const char*, const char*)>("rename")(from, to);
}
int link(const char* from, const char* to) noexcept {
  return fails("link") ? -1 : next<int(const char*, const char*)>("link")(from, to);
}
int unlink(const char* path) noexcept {
  return fails("unlink") ? -1 : next<int(const char*)>("unlink")(path);
}
int ftruncate(int file, off_t length) noexcept {
  return fails("ftruncate") ? -1 : next<int(int, off_t)>("ftruncate")(file, length);
}
int utimensat(int folder, const char* path, const timespec* times, int flags) noexcept {
  return fails("utimensat")
             ? -1
             : next<int(int, const char*, const timespec*, int)>("utimensat")(folder, path, times, flags);
}
}
