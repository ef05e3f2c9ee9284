#include "engine/slots/crash_signals.hpp"

#include "engine/fixtures/engine_rig.hpp"
#include "store/run_folder/running_trials.hpp"

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace skyline::engine {
namespace {

/// How a process ended in whose slot `act` was done, and the crash that its running trial keeps: "11, kept
/// 11".
std::string end_of(const std::function<void()>& act) {
  const ScratchFolder folder;
  const store::RunPaths paths{folder.path()};
  std::filesystem::create_directories(paths.checkpoints());
  const pid_t child = ::fork();
  if (child == 0) {
    for (const int signal : CrashSignals::kSignals) std::signal(signal, SIG_DFL);  // a sanitizer has its own
    const rlimit no_core{0, 0};
    ::setrlimit(RLIMIT_CORE, &no_core);
    store::RunningTrials running(paths, 0, 1, "job", "");
    const CrashSignals crashes(running);
    std::thread([&] {
      const SignalStack signals;
      running.begins(0, {7});
      act();
    }).join();
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  const auto left = store::read_running_trials(paths);
  return std::to_string(WIFSIGNALED(status) ? WTERMSIG(status) : 0) + ", kept " +
         std::to_string(left.at(0).rows.at(0).signal);
}

TEST(CrashSignals, KeepACrashInsideTheProcessWhichThenDiesOfIt) {
  EXPECT_EQ(end_of([] {
              static int* volatile nowhere = nullptr;
              *nowhere = 1;
            }),
            "11, kept 11");
  EXPECT_EQ(end_of([] { __builtin_trap(); }), "4, kept 4");
  EXPECT_EQ(end_of([] { std::abort(); }), "6, kept 6");
}

int fill_stack(int depth) {
  volatile char room[4096] = {};
  return depth < 0 ? room[0] : fill_stack(depth + 1) + room[depth % 4096];
}

TEST(CrashSignals, KeepThatTheStackOfASlotIsFull) {
  EXPECT_EQ(end_of([] { std::_Exit(fill_stack(0)); }), "11, kept 11");
}

TEST(CrashSignals, KeepNothingOfASignalThatSomebodySent) {
  EXPECT_EQ(end_of([] { ::kill(::getpid(), SIGSEGV), ::pause(); }), "11, kept 0");
  EXPECT_EQ(end_of([] { ::kill(::getpid(), SIGABRT), ::pause(); }), "6, kept 0");
  EXPECT_EQ(end_of([] { ::kill(::getpid(), SIGKILL), ::pause(); }), "9, kept 0");
}

TEST(CrashSignals, GiveTheEarlierHandlersBack) {
  struct sigaction before {};
  ::sigaction(SIGSEGV, nullptr, &before);
  const ScratchFolder folder;
  store::RunningTrials running({folder.path()}, 0, 1, "job", "");
  { const CrashSignals crashes(running); }
  struct sigaction after {};
  ::sigaction(SIGSEGV, nullptr, &after);
  EXPECT_EQ(before.sa_handler, after.sa_handler);
}

}  // namespace
}  // namespace skyline::engine
