#include "skyline/core/error.hpp"

#include "support/process_limit.hpp"

#include <cerrno>

#include <gtest/gtest.h>

namespace skyline {
namespace {

TEST(Error, RequireThrowsOnlyWhenTheConditionFails) {
  EXPECT_NO_THROW(require(true, "fine"));
  try {
    require(false, "the queue is closed");
    FAIL() << "nothing was thrown";
  } catch (const InternalError& error) {
    EXPECT_STREQ(error.what(), "the queue is closed");
  }
}

TEST(Error, NamesSystemErrors) {
  EXPECT_EQ(system_error_text(ENOSPC), "No space left on device");
}

TEST(Error, NamesTheLimitOfThisProcessThatMayBeTheCause) {
  const testing::ProcessLimit files(RLIMIT_NOFILE, 64);
  EXPECT_EQ(system_error_text(EMFILE),
            "Too many open files (limits of this process: 64 open files, ulimit -n)");
  EXPECT_EQ(system_error_text(EFBIG), "File too large");
  const testing::ProcessLimit size(RLIMIT_FSIZE, 102400);
  EXPECT_EQ(system_error_text(EFBIG),
            "File too large (limits of this process: 102400 bytes of a file, ulimit -f)");
}

}  // namespace
}  // namespace skyline
