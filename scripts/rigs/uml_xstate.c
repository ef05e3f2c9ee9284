/* For LD_PRELOAD under User Mode Linux on processors with AMX: its kernel keeps 2,696 bytes of floating-point
   state, the processor has 11 kB, and ptrace refuses a short area. Pads the area with the state as it is. */
#define _GNU_SOURCE
#include <stdarg.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

enum { kXState = 0x202, kPeekText = 1, kPeekUser = 3 };

long ptrace(enum __ptrace_request request, ...) {
  va_list arguments;
  va_start(arguments, request);
  const pid_t process = va_arg(arguments, pid_t);
  void* address = va_arg(arguments, void*);
  void* data = va_arg(arguments, void*);
  va_end(arguments);
  const long number = (long)request;
  if (number == PTRACE_SETREGSET && (long)address == kXState) {
    static char area[65536];
    const struct iovec* given = data;
    struct iovec padded = {area, sizeof area};
    if (given->iov_len < sizeof area &&
        syscall(SYS_ptrace, PTRACE_GETREGSET, process, kXState, &padded) == 0 &&
        padded.iov_len > given->iov_len) {
      memcpy(area, given->iov_base, given->iov_len);
      return syscall(SYS_ptrace, PTRACE_SETREGSET, process, kXState, &padded);
    }
  }
  if (number >= kPeekText && number <= kPeekUser) {
    long value = 0;
    const long result = syscall(SYS_ptrace, number, process, address, &value);
    return result < 0 ? result : value;
  }
  return syscall(SYS_ptrace, number, process, address, data);
}
