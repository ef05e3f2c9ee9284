#include "launcher/kept_log.hpp"

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <gtest/gtest.h>
#include <unistd.h>

namespace skyline::launcher {
namespace {

class KeptLogTest : public ::testing::Test {
 protected:
  ~KeptLogTest() override {
    ::close(descriptor_);
    std::filesystem::remove(name_);
  }
  std::string text() const {
    std::ifstream file(name_);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  std::string name_ = ::testing::TempDir() + "kept_log_XXXXXX";
  int descriptor_ = ::mkstemp(name_.data());
};

TEST_F(KeptLogTest, WhatFitsIsWrittenAtOnce) {
  KeptLog log(descriptor_, 10);
  log.add("12345");
  EXPECT_EQ(text(), "12345");
  EXPECT_FALSE(log.has_new_end());
}

TEST_F(KeptLogTest, UpToTwiceTheLimitNothingIsLeftOut) {
  KeptLog log(descriptor_, 4);
  log.add("123");
  log.add("45678");
  EXPECT_EQ(text(), "1234");
  log.write_end();
  EXPECT_EQ(text(), "12345678");
}

TEST_F(KeptLogTest, TheEndFollowsALineThatCountsWhatIsLeftOut) {
  KeptLog log(descriptor_, 4);
  log.add("abcdefghij");
  log.write_end();
  EXPECT_EQ(text(), "abcd\n[... 2 bytes are left out here ...]\nghij");
  log.add("kl");
  log.write_end();
  EXPECT_EQ(text(), "abcd\n[... 4 bytes are left out here ...]\nijkl");
}

TEST_F(KeptLogTest, AnyPiecesKeepTheSameText) {
  std::string all;
  for (int i = 0; i < 500; ++i) all += std::to_string(i) + " ";
  for (std::size_t piece = 1; piece < 40; ++piece) {
    ASSERT_EQ(::ftruncate(descriptor_, 0), 0);
    KeptLog log(descriptor_, 17);
    for (std::size_t i = 0; i < all.size(); i += piece) {
      log.add(all.substr(i, piece));
      if (i % 3 == 0) log.write_end();
    }
    log.write_end();
    EXPECT_EQ(text(), all.substr(0, 17) + "\n[... " + std::to_string(all.size() - 34) +
                          " bytes are left out here ...]\n" + all.substr(all.size() - 17));
  }
}

TEST_F(KeptLogTest, ALimitOfNothingKeepsTheCountAlone) {
  KeptLog log(descriptor_, 0);
  log.add("abc");
  log.write_end();
  EXPECT_EQ(text(), "\n[... 3 bytes are left out here ...]\n");
}

TEST_F(KeptLogTest, AFileThatCannotBeWrittenStopsNobody) {
  KeptLog log(-1, 2);
  log.add("abcdef");
  EXPECT_EQ(log.error(), EBADF);
  log.write_end();
  EXPECT_FALSE(log.has_new_end());
}

}  // namespace
}  // namespace skyline::launcher
