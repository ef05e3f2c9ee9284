#include "app/commands/space_survey.hpp"
#include "core/log.hpp"

#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline::app {
namespace {

using ::testing::ElementsAre;

struct CountTerminal {
  double now_s = 100;
  std::vector<std::string> written = {};

  report::ProgressConsole console() {
    return {.now_s = [this] { return now_s; },
            .unix_s = [] { return 0.0; },
            .write = [this](std::string_view text) { written.emplace_back(text); },
            .columns = [] { return std::size_t{80}; }};
  }
};

TEST(CountProgress, IsSilentForTwoSecondsAndThenRewritesOneLineThatIsGoneInTheEnd) {
  CountTerminal terminal;
  {
    CountProgress progress(terminal.console());
    terminal.now_s = 101.9;
    EXPECT_FALSE(progress.is_due());
    terminal.now_s = 102;
    EXPECT_TRUE(progress.is_due());
    progress.show(0.25);
    EXPECT_FALSE(progress.is_due());
    terminal.now_s = 102.5;
    EXPECT_TRUE(progress.is_due());
    progress.show(0.5);
  }
  EXPECT_THAT(terminal.written, ElementsAre("\r\x1b[Kcounting: 25 %, 0:06 left",
                                            "\r\x1b[Kcounting: 50 %, 0:02 left", "\r\x1b[K"));
}

TEST(CountProgress, OfAShortCountIsNothing) {
  CountTerminal terminal;
  { const CountProgress progress(terminal.console()); }
  EXPECT_TRUE(terminal.written.empty());
}

TEST(CountProgress, WithoutATerminalHasALineEveryTenSeconds) {
  log::start({});  // tests before it in this process may have set a higher level
  CountTerminal clock;
  report::ProgressConsole console = clock.console();
  console.write = {};
  CountProgress progress(console);
  clock.now_s = 109;
  EXPECT_FALSE(progress.is_due());
  clock.now_s = 110;
  EXPECT_TRUE(progress.is_due());
  ::testing::internal::CaptureStderr();
  progress.show(0.5);
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), ::testing::HasSubstr("counting: 50 %, 0:10 left"));
  clock.now_s = 119;
  EXPECT_FALSE(progress.is_due());
}

}  // namespace
}  // namespace skyline::app
