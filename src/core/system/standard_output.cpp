#include "core/system/standard_output.hpp"

#include "skyline/core/error.hpp"

#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <mutex>
#include <streambuf>
#include <string>

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

namespace skyline {

int write_whole(int descriptor, std::string_view bytes) {
  constexpr int kNoLimit = -1;
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
    if (written > 0) {
      bytes.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno == EAGAIN) {  // another process of the same terminal or pipe may have set that
      pollfd room{.fd = descriptor, .events = POLLOUT, .revents = 0};
      ::poll(&room, 1, kNoLimit);
    } else if (errno != EINTR) {
      return errno;
    }
  }
  return 0;
}

std::size_t output_columns() {
  if (::isatty(STDOUT_FILENO) != 1) return kColumnsOfText;
  if (const char* const given = std::getenv("COLUMNS")) {
    std::size_t columns = 0;
    std::from_chars(given, given + std::strlen(given), columns);
    if (columns > 0) return columns;
  }
  winsize size{};
  // mpirun gives its ranks a terminal without a size where its own output is a pipe or a file
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return kColumnsOfText;
  return size.ws_col;
}

void outlive_standard_streams() {
  for (const int signal : {SIGPIPE, SIGXFSZ}) std::signal(signal, SIG_IGN);
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(stream, F_GETFD) >= 0 || errno != EBADF) continue;
    // The lowest free number is this stream's, because those below are open.
    (void)::open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  }
}

class StandardOutput::Buffer final : public std::streambuf {
 public:
  Buffer() : earlier_(std::cout.rdbuf(this)) {}
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer() override { std::cout.rdbuf(earlier_); }

  /// Returns the first error number, or 0.
  int error() const { return error_; }

 protected:
  int_type overflow(int_type letter) override {
    const char text = traits_type::to_char_type(letter);
    return xsputn(&text, 1) == 1 ? letter : traits_type::eof();
  }

  std::streamsize xsputn(const char* text, std::streamsize count) override {
    const std::lock_guard lock(mutex_);
    waiting_.append(text, static_cast<std::size_t>(count));
    const bool is_due =
        waiting_.size() >= kPieceBytes || (is_terminal_ && waiting_.find('\n') != std::string::npos);
    if (is_due) write_out();
    return error_ == 0 ? count : 0;
  }

  /// A thread that ends the process must not wait for one that is stuck in a write.
  int sync() override {
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (lock.owns_lock()) write_out();
    return error_ == 0 ? 0 : -1;
  }

 private:
  static constexpr std::size_t kPieceBytes = std::size_t{1} << 16;

  void write_out() {
    if (error_ == 0) error_ = write_whole(STDOUT_FILENO, waiting_);
    waiting_.clear();
  }

  std::streambuf* const earlier_;
  const bool is_terminal_ = ::isatty(STDOUT_FILENO) == 1;
  std::mutex mutex_;  // guards the members below
  std::string waiting_;
  int error_ = 0;
};

StandardOutput::StandardOutput() : buffer_(std::make_unique<Buffer>()) {}

StandardOutput::~StandardOutput() {
  std::cout.flush();
}

bool StandardOutput::finish() {
  std::cout.flush();
  if (buffer_->error() == 0 || buffer_->error() == EPIPE) return buffer_->error() == 0;
  throw FaultError("cannot write to standard output: " + system_error_text(buffer_->error()));
}

}  // namespace skyline
