#include "evaluate/process/user_program.hpp"

#include "core/system/process.hpp"
#include "evaluate/process/error_words.hpp"
#include "evaluate/process/trainer_fixture.hpp"
#include "support/user_error_of.hpp"

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <utility>
#include <variant>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

namespace skyline::evaluate {
namespace {

using Kind = ProcessEnd::Kind;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using testing::user_error_of;

class UserProgramTest : public testing::TrainerFixture {
 protected:
  /// The process whose number is in the file.
  int number(const std::string& name) const {
    const int process = std::atoi(text_of(name).c_str());
    EXPECT_GT(process, 0) << name;
    return process;
  }
};

TEST_F(UserProgramTest, AnExitCodeIsTheEnd) {
  const ProcessEnd end = run("exit 3");
  EXPECT_EQ(end.kind, Kind::kExited);
  EXPECT_EQ(end.value, 3);
  EXPECT_EQ(end.reason, "exit code 3");
}

TEST_F(UserProgramTest, ASignalIsNamed) {
  const ProcessEnd end = run("kill -SEGV $$");
  EXPECT_EQ(end.kind, Kind::kSignaled);
  EXPECT_EQ(end.value, SIGSEGV);
  EXPECT_EQ(end.reason, "signal SIGSEGV");
}

TEST_F(UserProgramTest, TheExitCodeWithWhichAWrapperTellsOfASignalIsThatSignal) {
  const std::pair<const char*, const char*> cases[] = {
      {"sh -c 'kill -KILL $$'; exit $?", "signal SIGKILL (exit code 137)"},
      {"sh -c 'kill -SEGV $$'; exit $?", "signal SIGSEGV (exit code 139)"},
      {"exit 143", "signal SIGTERM (exit code 143)"},
      {"exit 247", "signal SIGKILL (exit code 247)"},
      {"exit 250", "signal SIGABRT (exit code 250)"},
  };
  auto end_of_next = [this, next = 0](const char* script) mutable {
    return run(plan(script, std::to_string(next++)));  // each has a report file of its own
  };
  for (const auto& [script, reason] : cases) {
    const ProcessEnd end = end_of_next(script);
    EXPECT_EQ(end.kind, Kind::kSignaled);
    EXPECT_EQ(end.reason, reason);
    EXPECT_EQ(failure_of(end).kind, trial::FailureKind::kException);
  }
  for (const char* script : {"exit 128", "exit 145", "exit 254", "exit 255", "exit 200"})
    EXPECT_EQ(end_of_next(script).kind, Kind::kExited) << script;
}

TEST_F(UserProgramTest, AProgramThatIsNotThereIsNotStarted) {
  ProcessPlan missing = plan("");
  missing.arguments = {"/no/such/program"};
  UserProgram process(missing);
  const ProcessEnd end = end_of(process);
  EXPECT_EQ(end.kind, Kind::kNotStarted);
  EXPECT_EQ(end.value, ENOENT);
  EXPECT_EQ(end.reason, "cannot start /no/such/program: No such file or directory");
  EXPECT_FALSE(process.has_started());
}

TEST_F(UserProgramTest, AFileThatIsNotExecutableIsNotStarted) {
  std::ofstream(folder() / "data.txt") << "text\n";
  ProcessPlan data = plan("");
  data.arguments = {(folder() / "data.txt").string()};
  EXPECT_THAT(run(data).reason, HasSubstr("data.txt: Permission denied"));
}

TEST_F(UserProgramTest, AMissingWorkingFolderIsNamed) {
  ProcessPlan lost = plan("exit 0");
  lost.folder = folder() / "lost";
  EXPECT_EQ(run(lost).reason,
            "cannot change to the folder " + lost.folder.string() + ": No such file or directory");
}

TEST_F(UserProgramTest, AMissingLauncherIsOneClearLine) {
  ::setenv("SKYLINE_TRAINER_LAUNCHER", "/no/launcher", 1);
  EXPECT_EQ(
      user_error_of([&] { UserProgram process(plan("exit 0")); }),
      "programs cannot be started: SKYLINE_TRAINER_LAUNCHER: /no/launcher is not there (install Skyline "
      "whole, or name the file in SKYLINE_TRAINER_LAUNCHER)");
}

TEST_F(UserProgramTest, ALauncherThatIsAnotherProgramHasFailed) {
  ::setenv("SKYLINE_TRAINER_LAUNCHER", "/bin/true", 1);
  const ProcessEnd end = run("exit 0");
  EXPECT_EQ(end.kind, Kind::kLost);
  EXPECT_EQ(end.reason, "its launcher failed");
}

TEST_F(UserProgramTest, ArgumentsReachTheProgramAsTheyAre) {
  ProcessPlan odd = plan(R"(printf '%s|' "$@" > got)");
  odd.arguments.insert(odd.arguments.end(), {"sh", ";$(touch x)", "a\nb", "--", "-rf", "", "*"});
  EXPECT_EQ(run(odd).reason, "exit code 0");
  EXPECT_EQ(text_of("got"), ";$(touch x)|a\nb|--|-rf||*|");
}

TEST_F(UserProgramTest, ItHasFourDescriptorsAlthoughOthersAreInherited) {
  const int inherited = ::dup(STDERR_FILENO);
  run("ls /proc/$$/fd; true");
  ::close(inherited);
  EXPECT_EQ(text_of("a.log"), "0\n1\n2\n3\n");
}

TEST_F(UserProgramTest, WithoutAReportItHasThreeDescriptors) {
  ProcessPlan quiet = plan("ls /proc/$$/fd; env > env");
  quiet.report_file.clear();
  run(quiet);
  EXPECT_EQ(text_of("a.log"), "0\n1\n2\n");
  EXPECT_THAT(text_of("env"), ::testing::Not(HasSubstr("SKYLINE_REPORT")));
}

TEST_F(UserProgramTest, ItsEnvironmentIsThatOfThePlanAndItsChannels) {
  ::setenv("OMPI_COMM_WORLD_RANK", "0", 1);
  ProcessPlan plain = plan("");
  plain.arguments = {"/usr/bin/env"};
  plain.variables["SKYLINE_REPORT_FD"] = "7";  // variable of a Skyline around this one
  run(plain);
  ::unsetenv("OMPI_COMM_WORLD_RANK");
  EXPECT_THAT(text_of("a.log"),
              ::testing::MatchesRegex(
                  "SKYLINE_PROCESS_MARK=[0-9a-f]+\nSKYLINE_REPORT_FD=3\nSKYLINE_REPORT_FILE=" +
                  plain.report_file.string() + "\nOUT=" + folder().string() + "\nPATH=/usr/bin:/bin\n"));
}

TEST_F(UserProgramTest, SignalsAndLimitsAreThoseOfAFreshProgram) {
  const auto before = std::signal(SIGUSR1, SIG_IGN);
  ProcessPlan limited = plan(
      "grep -E '^Sig(Blk|Ign)' /proc/self/status > signals; cat /proc/$$/oom_score_adj > score;"
      "ulimit -c > core; ulimit -n > files; cut -d' ' -f1,6 /proc/$$/stat > session");
  limited.limits.open_files = 50;
  run(limited);
  std::signal(SIGUSR1, before);
  EXPECT_EQ(text_of("signals"), "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n");
  EXPECT_EQ(text_of("score"), "1000\n");
  EXPECT_EQ(text_of("core"), "0\n");
  EXPECT_EQ(text_of("files"), "50\n");
  const std::string session = text_of("session");
  EXPECT_EQ(std::atoi(session.c_str()), std::atoi(session.c_str() + session.find(' ')));
}

TEST_F(UserProgramTest, ItRunsOnItsProcessors) {
  const int last = allowed_processors().back();
  ProcessPlan bound = plan("grep Cpus_allowed_list /proc/$$/status > processors");
  bound.processors = {last};
  run(bound);
  EXPECT_EQ(text_of("processors"), "Cpus_allowed_list:\t" + std::to_string(last) + "\n");
}

TEST_F(UserProgramTest, ProcessorsThatAreNotThereAreAClearLine) {
  ProcessPlan bound = plan("exit 0");
  bound.processors = {100'000};
  EXPECT_EQ(run(bound).reason, "cannot bind it to its processors: Invalid argument");
}

TEST_F(UserProgramTest, ADaemonThatLeftTheSessionEndsWithTheTrainer) {
  const ProcessEnd end =
      run("(setsid sh -c 'trap \"\" TERM HUP; echo $$ > daemon; exec sleep 600' > /dev/null 2>&1 3>&- &);"
          "while [ ! -s daemon ]; do sleep 0.01; done");
  EXPECT_EQ(end.reason, "exit code 0");
  EXPECT_TRUE(is_gone(number("daemon")));
}

TEST_F(UserProgramTest, StopLetsTheTrainerSave) {
  UserProgram process(
      plan("trap 'echo saved > saved; exit 7' TERM; echo > ready; while :; do sleep 0.01; done"));
  wait_for("ready");
  process.stop();
  EXPECT_EQ(end_of(process).reason, "exit code 7");
  EXPECT_EQ(text_of("saved"), "saved\n");
}

TEST_F(UserProgramTest, WhatIgnoresSigtermIsEndedAfterTheGraceTime) {
  ProcessPlan stubborn =
      plan("trap '' TERM; (trap '' TERM; echo $$ > child; sleep 600) & echo > ready; sleep 600; sleep 600");
  stubborn.grace_s = 0.2;
  UserProgram process(stubborn);
  wait_for("ready");
  wait_for("child");
  process.stop();
  process.stop();
  EXPECT_EQ(end_of(process).reason, "signal SIGKILL");
  EXPECT_TRUE(is_gone(number("child")));
}

TEST_F(UserProgramTest, WhatTakesLongerThanItsTimeoutIsStoppedAndSaysSo) {
  ProcessPlan slow = plan("trap 'echo saved; exit 0' TERM; echo ready; while :; do sleep 0.01; done");
  slow.timeout_s = 0.5;
  slow.timeout_name = "prepare_timeout";
  const ProcessEnd end = UserProgram(slow).watch(&reader_, [] { return false; });
  EXPECT_EQ(end.kind, Kind::kTimedOut);
  EXPECT_EQ(end.reason, "took longer than prepare_timeout (500 ms)");
  EXPECT_THAT(text_of("a.log"), HasSubstr("saved\n"));
}

TEST_F(UserProgramTest, AWatchedProgramIsStoppedOnceWhenItMustEnd) {
  ProcessPlan slow = plan("trap 'echo told; exit 3' TERM; echo ready; while :; do sleep 0.01; done");
  slow.timeout_s = 600;
  const ProcessEnd end =
      UserProgram(slow).watch(nullptr, [&] { return text_of("a.log").starts_with("ready"); });
  EXPECT_EQ(end.reason, "exit code 3");
  EXPECT_THAT(text_of("a.log"), ::testing::EndsWith("told\n"));
}

TEST_F(UserProgramTest, TalksOverASocketUntilOneSideEndsIt) {
  ProcessPlan talks =
      plan(R"(read word <&3; echo "{\"result\": {\"accuracy\": $word, \"size_mb\": 1}}" >&3; read word <&3)");
  talks.report_file.clear();
  talks.socket_type = SOCK_STREAM;
  UserProgram program(talks);
  EXPECT_EQ(program.send("50\n"), 3U);
  program.end_sending();
  EXPECT_EQ(end_of(program).reason, "exit code 1");  // the second read has found the end
  EXPECT_EQ(std::get<trial::Measurements>(reader_.finish()).values.front(), 50);
  EXPECT_EQ(program.channel(), -1);
}

TEST_F(UserProgramTest, TheDestructorEndsAllWithoutAGraceTime) {
  {
    UserProgram process(plan("trap '' TERM; sleep 600 & echo $! > child; echo $$ > trainer; sleep 600"));
    wait_for("trainer");
  }
  EXPECT_TRUE(is_gone(number("trainer")));
  EXPECT_TRUE(is_gone(number("child")));
}

TEST_F(UserProgramTest, AFloodOfOutputNeitherBlocksNorFillsTheDisk) {
  ProcessPlan loud = plan("echo first; head -c 100000000 /dev/zero | tr '\\0' 'x'; echo; echo last");
  loud.log_limit = 1000;
  EXPECT_EQ(run(loud).reason, "exit code 0");
  const std::string log = text_of("a.log");
  EXPECT_THAT(log, StartsWith("first\nxxx"));
  EXPECT_THAT(log, HasSubstr("\n[... 99998012 bytes are left out here ...]\n"));
  EXPECT_TRUE(log.ends_with("xxx\nlast\n"));
  EXPECT_LT(log.size(), 2100U);
}

TEST_F(UserProgramTest, StdoutAndStderrAreOneLogInTheirOrder) {
  run("echo a; echo b >&2; echo c");
  EXPECT_EQ(text_of("a.log"), "a\nb\nc\n");
}

TEST_F(UserProgramTest, AnOldLogIsEmptied) {
  std::ofstream(folder() / "a.log") << "an old and longer text\n";
  run("echo new");
  EXPECT_EQ(text_of("a.log"), "new\n");
}

TEST_F(UserProgramTest, ItsLogHasThePermissionsThatTheUmaskLeaves) {
  const mode_t before = ::umask(027);
  run("echo hello");
  ::umask(before);
  EXPECT_EQ(std::filesystem::status(folder() / "a.log").permissions(), std::filesystem::perms(0640));
}

TEST_F(UserProgramTest, ALogThatIsALinkIsRefused) {
  std::filesystem::create_symlink(folder() / "elsewhere", folder() / "a.log");
  EXPECT_THAT(user_error_of([&] { UserProgram process(plan("exit 0")); }),
              HasSubstr("found a symbolic link"));
}

TEST_F(UserProgramTest, TooManyProcessesAreEndedTogether) {
  ProcessPlan bomb =
      plan("sleep 600 & echo $! > child; i=0; while [ $i -lt 100 ]; do sleep 600 & i=$((i+1)); done; wait");
  bomb.limits.processes = 20;
  const ProcessEnd end = run(bomb);
  EXPECT_EQ(end.kind, Kind::kManyProcesses);
  EXPECT_THAT(end.reason, StartsWith("it had "));
  EXPECT_THAT(end.reason, HasSubstr(" processes and threads, its limit is 20"));
  EXPECT_TRUE(is_gone(number("child")));
}

TEST_F(UserProgramTest, AForkBombIsEnded) {
  // It ends itself after some hundred processes, if nobody does.
  ProcessPlan bomb = plan("f() { if [ $1 -gt 0 ]; then f $(($1-1)) & f $(($1-1)) & fi; sleep 600; }; f 8");
  bomb.limits.processes = 50;
  bomb.variables["BOMB"] = "1";
  EXPECT_EQ(run(bomb).kind, Kind::kManyProcesses);
}

TEST_F(UserProgramTest, TooMuchMemoryOfTheTreeIsOutOfMemory) {
  ProcessPlan large = plan("cat /dev/zero | tail -c 200000000");
  large.limits.memory_bytes = 50'000'000;
  const ProcessEnd end = run(large);
  EXPECT_EQ(end.kind, Kind::kOutOfMemory);
  EXPECT_THAT(end.reason, HasSubstr(" MB of memory, its limit is 50 MB"));
}

TEST_F(UserProgramTest, WhatAKilledLauncherLeavesIsFoundAndEnded) {
  UserProgram process(
      plan("(setsid sh -c 'trap \"\" TERM HUP; echo $$ > daemon; exec sleep 600' &) ; sleep 600 & echo $! > "
           "child;echo $PPID > launcher; sleep 600"));
  const std::string launcher = wait_for("launcher");
  wait_for("daemon");
  ::kill(std::atoi(launcher.c_str()), SIGKILL);
  const ProcessEnd end = end_of(process);
  EXPECT_EQ(end.kind, Kind::kLost);
  EXPECT_EQ(end.reason, "its launcher failed");
  EXPECT_TRUE(is_gone(number("daemon")));
  EXPECT_TRUE(is_gone(number("child")));
}

TEST_F(UserProgramTest, OtherChildrenOfThisProcessAreLeftAlone) {
  UserProgram other(plan("echo $$ > other; sleep 600", "other"));
  wait_for("other");
  UserProgram process(plan("echo $PPID > launcher; sleep 600"));
  ::kill(std::atoi(wait_for("launcher").c_str()), SIGKILL);
  end_of(process);
  EXPECT_TRUE(process_exists(number("other")));
  EXPECT_FALSE(other.poll());
}

TEST_F(UserProgramTest, TheResultComesByTheDescriptor) {
  run(R"(echo '{"step": 1, "accuracy": 50}' >&3; echo '{"result": {"accuracy": 93.1, "size_mb": 4.2}}' >&3)");
  const auto points = reader_.take_points();
  ASSERT_EQ(points.size(), 1U);
  EXPECT_EQ(points[0].step, 1);
  EXPECT_THAT(std::get<trial::Measurements>(reader_.finish()).values, ElementsAre(93.1, 4.2));
}

TEST_F(UserProgramTest, TheResultComesByTheFile) {
  run(R"(exec 3>&-; echo '{"step": 1, "accuracy": 5}' >> "$SKYLINE_REPORT_FILE"; sleep 0.2;
         printf '{"result": {"accuracy": 93.1, "size_mb": 4.2}}' >> "$SKYLINE_REPORT_FILE")");
  EXPECT_THAT(std::get<trial::Measurements>(reader_.finish()).values, ElementsAre(93.1, 4.2));
}

TEST_F(UserProgramTest, AReportFileMayBeWrittenWholeAndRenamed) {
  run(R"(echo '{"result": {"accuracy": 1, "size_mb": 2}}' > new; mv new "$SKYLINE_REPORT_FILE")");
  EXPECT_THAT(std::get<trial::Measurements>(reader_.finish()).values, ElementsAre(1, 2));
}

TEST_F(UserProgramTest, OneResultOnEachChannelAreTwo) {
  run(R"(r='{"result": {"accuracy": 1, "size_mb": 2}}'; echo "$r" >&3; echo "$r" > "$SKYLINE_REPORT_FILE")");
  EXPECT_EQ(mistake(), "line 2 of its report: it is a second result");
}

TEST_F(UserProgramTest, AReportFileThatBecameAPipeIsRefused) {
  run(R"(rm "$SKYLINE_REPORT_FILE"; mkfifo "$SKYLINE_REPORT_FILE")");
  EXPECT_EQ(mistake(), "its report file " + (folder() / "a.report").string() +
                           " was replaced by something else than a file");
}

TEST_F(UserProgramTest, AReportFileThatBecameALinkIsRefused) {
  run(R"(echo '{"result": {"accuracy": 1, "size_mb": 2}}' > other; ln -sf other "$SKYLINE_REPORT_FILE")");
  EXPECT_EQ(mistake(),
            "its report file " + (folder() / "a.report").string() + " was replaced by a symbolic link");
}

TEST_F(UserProgramTest, AFloodOfReportsIsAMistakeAndStaysSmall) {
  UserProgram process(plan("yes '{\"result\": 1}' >&3"));
  while (!reader_.mistake()) {
    const auto end = process.poll();
    process.collect(reader_);
    ASSERT_TRUE(!end || reader_.mistake()) << end->reason;
    process.wait(std::chrono::milliseconds(50));
  }
  process.kill();
  EXPECT_EQ(end_of(process).reason, "signal SIGKILL");
  EXPECT_EQ(mistake(), "line 1 of its report: `result`: expected an object, got 1.0");
}

TEST_F(UserProgramTest, ReportsThatNobodyCollectsStopNoEnd) {
  UserProgram process(plan("head -c 1000000 /dev/zero >&3"));
  while (!process.has_started()) ASSERT_FALSE(process.poll());
  process.kill();
  while (!process.poll()) process.wait(std::chrono::milliseconds(1));
  process.collect(reader_);
  EXPECT_EQ(process.poll()->reason, "signal SIGKILL");
}

TEST_F(UserProgramTest, TrainersThatThreadsStartAtOnceShareNoDescriptor) {
  constexpr int kThreads = 4;
  constexpr int kRounds = 5;
  const auto start_some = [&](int thread) {
    for (int round = 0; round < kRounds; ++round) {
      const std::string name = std::to_string(thread) + "-" + std::to_string(round);
      ReportReader reader({{.name = "thread"}}, false);
      UserProgram process(plan(
          "ls /proc/$$/fd; echo '{\"result\": {\"thread\": " + std::to_string(thread) + "}}' >&3", name));
      while (!process.poll()) process.wait(std::chrono::milliseconds(50));
      process.collect(reader);
      EXPECT_EQ(text_of(name + ".log"), "0\n1\n2\n3\n");
      const auto outcome = reader.finish();
      ASSERT_TRUE(std::holds_alternative<trial::Measurements>(outcome));
      EXPECT_THAT(std::get<trial::Measurements>(outcome).values, ElementsAre(thread));
    }
  };
  std::vector<std::jthread> threads;
  for (int thread = 0; thread < kThreads; ++thread) threads.emplace_back(start_some, thread);
}

TEST_F(UserProgramTest, TheTailOfALogIsHarmlessAndShort) {
  run("i=0; while [ $i -lt 50 ]; do echo line $i; i=$((i+1)); done; printf ' 1%%\\r 2%%\\r "
      "3%%\\n\\n\\033[2Jred\\n'");
  const std::vector<std::string> lines = log_tail(folder() / "a.log");
  ASSERT_EQ(lines.size(), 20U);
  EXPECT_EQ(lines.front(), "line 32");
  EXPECT_EQ(lines[18], " 3%");
  EXPECT_EQ(lines[19], "\\x1b[2Jred");
}

TEST_F(UserProgramTest, TheTailOfAHugeLineIsShort) {
  run("head -c 1000000 /dev/zero | tr '\\0' 'x'");
  const std::vector<std::string> lines = log_tail(folder() / "a.log");
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(lines[0].size(), 400U);
}

TEST_F(UserProgramTest, ALogThatIsNoFileHasNoTail) {
  std::filesystem::create_symlink("/etc/passwd", folder() / "link");
  EXPECT_TRUE(log_tail(folder() / "link").empty());
  EXPECT_TRUE(log_tail(folder() / "missing").empty());
  EXPECT_TRUE(log_tail(folder()).empty());
}

}  // namespace
}  // namespace skyline::evaluate
