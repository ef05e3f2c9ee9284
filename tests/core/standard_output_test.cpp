#include "core/system/standard_output.hpp"

#include "core/system/open_file.hpp"
#include "core/text/foreign_text.hpp"
#include "support/process_limit.hpp"
#include "support/user_error_of.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <iostream>
#include <string>
#include <thread>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace skyline {
namespace {

using testing::fault_error_of;

struct Pipe {
  FileDescriptor read;
  FileDescriptor write;
};

Pipe make_pipe(int flags = 0) {
  std::array<int, 2> ends{};
  EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC | flags), 0);
  return {FileDescriptor(ends[0]), FileDescriptor(ends[1])};
}

std::string text_of(const FileDescriptor& file) {
  std::string text;
  std::array<char, 4096> piece{};
  for (ssize_t count = 0; (count = ::read(file.get(), piece.data(), piece.size())) > 0;)
    text.append(piece.data(), static_cast<std::size_t>(count));
  return text;
}

/// While it lives, standard output or standard error is another file.
class OutputTo {
 public:
  explicit OutputTo(int descriptor, int stream = STDOUT_FILENO) : stream_(stream), earlier_(::dup(stream)) {
    std::cout.flush();
    ::dup2(descriptor, stream_);
  }
  ~OutputTo() {
    ::dup2(earlier_.get(), stream_);
    std::cout.clear();
  }
  OutputTo(const OutputTo&) = delete;
  OutputTo& operator=(const OutputTo&) = delete;

 private:
  int stream_;
  FileDescriptor earlier_;
};

TEST(StandardOutput, WritesAllThatIsPrintedInItsOrder) {
  Pipe pipe = make_pipe();
  std::string text;
  std::thread reader([&] { text = text_of(pipe.read); });
  {
    const OutputTo there(pipe.write.get());
    pipe.write.reset();
    StandardOutput output;
    for (int i = 0; i < 50'000; ++i) std::cout << i << '\n';
    output.finish();
  }
  reader.join();
  EXPECT_EQ(text.size(), 10u * 2 + 90 * 3 + 900 * 4 + 9000 * 5 + 40'000 * 6);
  EXPECT_TRUE(text.starts_with("0\n1\n2\n"));
  EXPECT_TRUE(text.ends_with("\n49999\n"));
}

TEST(StandardOutput, TellsAnErrorByOneCallSoThatNoOtherProcessWritesIntoTheLine) {
  const Pipe pipe = make_pipe(O_DIRECT);  // a read returns what one call wrote
  {
    const OutputTo there(pipe.write.get(), STDERR_FILENO);
    say("cannot write \"a\tb\": no answer");
  }
  std::array<char, 4096> piece{};
  const ssize_t count = ::read(pipe.read.get(), piece.data(), piece.size());
  ASSERT_GT(count, 0);
  EXPECT_EQ(std::string(piece.data(), static_cast<std::size_t>(count)),
            "skyline: cannot write \"a\\x09b\": no answer\n");
}

TEST(StandardOutput, TellsTheFirstReasonWhyTextHasNotGoneOut) {
  const FileDescriptor full(::open("/dev/full", O_WRONLY | O_CLOEXEC));
  const OutputTo there(full.get());
  StandardOutput output;
  EXPECT_EQ(fault_error_of([&] { output.finish(); }), "(nothing was thrown)");
  std::cout << "text";
  EXPECT_TRUE(std::cout.good()) << "nothing is due yet";
  std::cout << std::flush;
  EXPECT_FALSE(std::cout.good());
  EXPECT_EQ(fault_error_of([&] { output.finish(); }),
            "cannot write to standard output: No space left on device");
}

TEST(StandardOutput, ToAReaderThatHasGoneIsAnErrorAndNoSignal) {
  const auto earlier = std::signal(SIGPIPE, SIG_DFL);
  outlive_standard_streams();
  Pipe pipe = make_pipe();
  pipe.read.reset();
  EXPECT_EQ(write_whole(pipe.write.get(), "text"), EPIPE);
  const OutputTo there(pipe.write.get());
  StandardOutput output;
  EXPECT_TRUE(output.finish()) << "nothing was written";
  std::cout << "text";
  EXPECT_FALSE(output.finish());
  std::signal(SIGPIPE, earlier);
}

TEST(StandardOutput, BeyondTheLimitOfAFileIsAnErrorAndNoSignal) {
  const auto earlier = std::signal(SIGXFSZ, SIG_DFL);
  outlive_standard_streams();
  const FileDescriptor file(::open("/tmp", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600));
  const testing::ProcessLimit limit(RLIMIT_FSIZE, 2);
  EXPECT_EQ(write_whole(file.get(), "text"), EFBIG);
  std::signal(SIGXFSZ, earlier);
}

TEST(StandardOutput, WaitsForRoomWhereADescriptorDoesNotBlock) {
  Pipe pipe = make_pipe(O_NONBLOCK);
  const std::string all(1 << 20, 'x');
  std::thread writer([&] {
    EXPECT_EQ(write_whole(pipe.write.get(), all), 0);
    pipe.write.reset();
  });
  ::fcntl(pipe.read.get(), F_SETFL, 0);
  EXPECT_EQ(text_of(pipe.read), all);
  writer.join();
}

TEST(StandardOutput, ThatWasClosedIsNotTheNumberOfAnotherFile) {
  const FileDescriptor earlier(::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3));
  ::close(STDIN_FILENO);
  outlive_standard_streams();
  char letter = 0;
  EXPECT_EQ(::read(STDIN_FILENO, &letter, 1), -1);
  EXPECT_EQ(errno, EBADF);
  ::dup2(earlier.get(), STDIN_FILENO);
}

}  // namespace
}  // namespace skyline
