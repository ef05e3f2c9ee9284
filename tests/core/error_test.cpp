#include "skyline/core/error.hpp"

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

}  // namespace
}  // namespace skyline
