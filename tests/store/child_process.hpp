#pragma once

#include <string>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

namespace skyline::testing {

/// Runs `action` in a child process; the child ends without destructors of the test program.
template <typename Action>
pid_t start_child(Action action) {
  const pid_t child = ::fork();
  if (child == 0) {
    action();
    ::_exit(0);
  }
  return child;
}

inline int wait_for_child(pid_t child) {
  int status = 0;
  ::waitpid(child, &status, 0);
  return status;
}

/// The text that `action` returns when it runs in a child without the rights of root.
template <typename Action>
std::string text_of_unprivileged_child(Action action) {
  int ends[2];
  if (::pipe(ends) != 0) return "(no pipe)";
  const pid_t child = start_child([&] {
    constexpr uid_t kNobody = 65534;
    if (::geteuid() == 0 && ::setuid(kNobody) != 0) ::_exit(1);
    const std::string text = action();
    if (::write(ends[1], text.data(), text.size()) < 0) ::_exit(1);
  });
  ::close(ends[1]);
  std::string text(4096, '\0');
  const ssize_t length = ::read(ends[0], text.data(), text.size());
  ::close(ends[0]);
  wait_for_child(child);
  text.resize(length > 0 ? static_cast<std::size_t>(length) : 0);
  return text;
}

}  // namespace skyline::testing
