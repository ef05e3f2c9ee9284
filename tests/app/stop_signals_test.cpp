#include "app/job/stop_request.hpp"

#include <csignal>

#include <gtest/gtest.h>

namespace skyline::app {
namespace {

TEST(StopSignals, AskToStopInsteadOfEndingTheProcess) {
  for (const int signal : {SIGUSR1, SIGTERM, SIGHUP, SIGINT}) {
    const StopSignals signals;
    EXPECT_FALSE(signals.stop_requested());
    std::raise(signal);
    EXPECT_TRUE(signals.stop_requested());
    EXPECT_EQ(signals.signal(), signal);
  }
}

TEST(StopSignals, GiveTheEarlierHandlersBack) {
  static int calls = 0;
  calls = 0;
  const auto earlier = std::signal(SIGUSR1, [](int) { ++calls; });
  {
    const StopSignals signals;
    std::raise(SIGUSR1);
  }
  EXPECT_EQ(calls, 0);
  std::raise(SIGUSR1);
  EXPECT_EQ(calls, 1);
  std::signal(SIGUSR1, earlier);
}

TEST(StopSignals, LeaveAHangUpThatIsIgnoredIgnored) {
  const auto earlier = std::signal(SIGHUP, SIG_IGN);
  {
    const StopSignals signals;
    std::raise(SIGHUP);
    EXPECT_FALSE(signals.stop_requested());
  }
  EXPECT_EQ(std::signal(SIGHUP, earlier), SIG_IGN);
}

TEST(StopSignals, EndTheProcessAtTheSecondInterrupt) {
  EXPECT_EXIT(
      {
        const StopSignals signals;
        std::raise(SIGINT);
        std::raise(SIGTERM);
        std::raise(SIGINT);
      },
      ::testing::ExitedWithCode(130), "");
}

TEST(StopSignals, KnowWhatCameBeforeThem) {
  note_early_signals();
  std::raise(SIGUSR1);
  {
    const StopSignals signals;
    EXPECT_EQ(signals.signal(), SIGUSR1);
  }
  release_early_signals();
}

TEST(StopSignals, OfACommandThatCannotStopEndItWhereverTheyCame) {
  const auto command = [](bool early) {
    note_early_signals();
    if (early) std::raise(SIGTERM);
    release_early_signals();
    std::raise(SIGTERM);
  };
  EXPECT_EXIT(command(true), ::testing::KilledBySignal(SIGTERM), "");
  EXPECT_EXIT(command(false), ::testing::KilledBySignal(SIGTERM), "");
}

TEST(StopSignals, TakeRepeatedTerminationsAsOneRequest) {
  const StopSignals signals;
  std::raise(SIGTERM);
  std::raise(SIGTERM);
  std::raise(SIGINT);
  EXPECT_EQ(signals.signal(), SIGINT);
}

}  // namespace
}  // namespace skyline::app
