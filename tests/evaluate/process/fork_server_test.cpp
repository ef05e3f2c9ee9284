#include "evaluate/process/fork_server.hpp"

#include "skyline/core/error.hpp"

#include "core/system/process.hpp"
#include "evaluate/process/trainer_fixture.hpp"
#include "support/user_error_of.hpp"

#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline::evaluate {
namespace {

using Kind = ProcessEnd::Kind;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using testing::user_error_of;

/// The function of the tests runs the code that its parameter is, and returns metrics. SERVER is the process
/// that has imported it.
constexpr const char* kModule = R"(
import os, pathlib, signal, subprocess, sys, threading, time
SERVER = os.getpid()
OUT = pathlib.Path(os.environ["OUT"])

def tell(name, *values):
    (OUT / (name + ".part")).write_text(" ".join(map(str, values)) + "\n")
    os.rename(OUT / (name + ".part"), OUT / name)

def train(code):
    exec(code)
    return {"accuracy": 1, "size_mb": 2}
)";

class ForkServerTest : public testing::TrainerFixture {
 protected:
  ForkServerTest() { write_module(""); }

  /// @param more  code at the end of the module
  void write_module(const std::string& more) const {
    std::ofstream(folder() / "trainer.py") << kModule << more;
  }

  ForkServer& server(const ForkServer::Limits& limits = {.import_s = 600}) {
    if (server_ != nullptr) return *server_;
    ProcessPlan plan{.arguments = {SKYLINE_PYTHON, "-m", "skyline.fork_server", "trainer:train"},
                     .variables = variables(),
                     .folder = folder(),
                     .log = folder() / "server.log"};
    auto made = std::make_unique<ForkServer>(std::move(plan), "trainer", limits);
    made->start({});
    server_ = std::move(made);
    return *server_;
  }

  Variables variables() const {
    return {{"PATH", "/usr/bin:/bin"},
            {"OUT", folder().string()},
            {"OMP_NUM_THREADS", "3"},
            {"PYTHONPATH", SKYLINE_PYTHON_FOLDER}};
  }

  ProcessPlan trial(const std::string& code, const std::string& name = "a") const {
    const std::filesystem::path parameters = folder() / name / "parameters.json";
    std::filesystem::create_directories(parameters.parent_path());
    std::string text;
    for (const char letter : code)
      text += letter == '"' ? "\\\"" : letter == '\n' ? "\\n" : std::string(1, letter);
    std::ofstream(parameters) << R"({"parameters": {"code": ")" << text << "\"}}\n";
    ProcessPlan planned = plan("", name);
    planned.arguments = {SKYLINE_PYTHON,      "-m",      "skyline.run_trial", "trainer:train",
                         parameters.string(), "accuracy"};
    planned.variables = variables();
    planned.variables["OWN"] = name;
    return planned;
  }

  std::unique_ptr<UserProgram> fork(const ProcessPlan& planned, const ForkServer::Stop& stop_requested = {}) {
    return std::make_unique<UserProgram>(planned, [&](const ProcessPlan& plan, const std::string& mark) {
      return server().fork(plan, mark, stop_requested);
    });
  }
  ProcessEnd run_fork(const ProcessPlan& planned, const ForkServer::Stop& stop_requested = {}) {
    const auto process = fork(planned, stop_requested);
    return end_of(*process);
  }
  /// Ends the server after a trial.
  void kill_server() {
    EXPECT_EQ(run_fork(trial("tell('server', SERVER)", "first")).reason, "exit code 0");
    ::kill(number("server"), SIGKILL);
    EXPECT_TRUE(is_gone(number("server")));
  }

  pid_t number(const std::string& name) const { return std::atoi(wait_for(name).c_str()); }

 private:
  std::unique_ptr<ForkServer> server_;
};

TEST_F(ForkServerTest, AFunctionReportsAndPrintsAsAProgram) {
  const ProcessEnd end = run_fork(trial("print('hello', code[:5])"));
  EXPECT_EQ(end.reason, "exit code 0");
  EXPECT_EQ(text_of("a.log"), "hello print\n");
  EXPECT_EQ(mistake(), "");
}

TEST_F(ForkServerTest, HowAFunctionEndsIsTheEndOfItsProcess) {
  EXPECT_EQ(run_fork(trial("raise ValueError('no')", "a")).reason, "exit code 1");
  EXPECT_THAT(text_of("a.log"), HasSubstr("ValueError: no"));
  EXPECT_EQ(run_fork(trial("sys.exit(7)", "b")).reason, "exit code 7");
  EXPECT_EQ(run_fork(trial("os.kill(os.getpid(), 11)", "c")).reason, "signal SIGSEGV");
  EXPECT_EQ(run_fork(trial("import atexit; atexit.register(print, 'bye'); sys.exit()", "d")).reason,
            "exit code 0");
  EXPECT_EQ(text_of("d.log"), "bye\n");
}

TEST_F(ForkServerTest, AForkHasWhatAProgramHas) {
  ProcessPlan planned = trial(
      "import resource; tell('limits', resource.getrlimit(resource.RLIMIT_NOFILE), "
      "resource.getrlimit(resource.RLIMIT_CORE),"
      " open('/proc/self/oom_score_adj').read().strip(), os.sched_getaffinity(0))\n"
      "tell('session', os.getsid(0) == os.getpid(), signal.getsignal(signal.SIGCHLD), "
      "signal.pthread_sigmask(0, []))\n"
      "tell('files', [name for name in os.listdir('/proc/self/fd') if os.path.exists('/proc/self/fd/' + "
      "name)])\n"
      "tell('place', os.getcwd(), sys.argv[0], sys.argv[-1])\n");
  planned.limits.open_files = 50;
  planned.processors = {allowed_processors().front()};
  EXPECT_EQ(run_fork(planned).reason, "exit code 0") << text_of("a.log");
  EXPECT_EQ(text_of("limits"), "(50, 50) (0, 0) 1000 {" + std::to_string(planned.processors.front()) + "}\n");
  EXPECT_EQ(text_of("session"), "True 0 set()\n");
  EXPECT_EQ(text_of("files"), "['0', '1', '2', '3']\n");
  EXPECT_EQ(text_of("place"), folder().string() + " skyline.run_trial accuracy\n");
}

TEST_F(ForkServerTest, ItsEnvironmentIsThatOfItsPlanAlsoForItsChildren) {
  write_module(
      "os.environ['OF_SERVER'] = '1'\ntell('import', os.environ['OMP_NUM_THREADS'], "
      "os.environ['MKL_NUM_THREADS'])\n");
  EXPECT_EQ(run_fork(trial("subprocess.run(['/usr/bin/env'])", "x")).reason, "exit code 0");
  EXPECT_EQ(text_of("import"), "1 1\n");
  EXPECT_THAT(text_of("x.log"),
              MatchesRegex("SKYLINE_PROCESS_MARK=[0-9a-f]+\nSKYLINE_REPORT_FD=3\nSKYLINE_REPORT_FILE=.*\n"
                           "OMP_NUM_THREADS=3\nOUT=.*\nOWN=x\nPATH=/usr/bin:/bin\nPYTHONPATH=.*\n"));
}

TEST_F(ForkServerTest, ALimitOfProcessesEndsTheWholeTree) {
  ProcessPlan planned = trial(
      "tell('child', subprocess.Popen(['sleep', '600']).pid)\n"
      "for _ in range(30): subprocess.Popen(['sleep', '600'])\ntime.sleep(600)");
  planned.limits.processes = 10;
  EXPECT_EQ(run_fork(planned).kind, Kind::kManyProcesses);
  EXPECT_TRUE(is_gone(number("child")));
}

TEST_F(ForkServerTest, AStopIsSigtermAndThenTheEndOfAll) {
  const auto process =
      fork(trial("signal.signal(signal.SIGTERM, lambda *_: sys.exit(4))\n"
                 "tell('child', subprocess.Popen(['sleep', '600'], start_new_session=True).pid)\n"
                 "time.sleep(600)"));
  const pid_t child = number("child");
  process->stop();
  EXPECT_EQ(end_of(*process).reason, "exit code 4");
  EXPECT_TRUE(is_gone(child));
}

TEST_F(ForkServerTest, WhenItsLauncherIsKilledAllThatAForkHasStartedEnds) {
  // A daemon that was forked: neither its session nor the environment it was started with are those of the
  // trial.
  const auto process =
      fork(trial("if os.fork() == 0:\n  os.setsid()\n  tell('daemon', os.getpid())\n  time.sleep(600)\n"
                 "tell('own', os.getpid(), os.getppid(), SERVER)\ntime.sleep(600)"));
  const pid_t daemon = number("daemon");
  const std::string own = wait_for("own");
  char* rest = nullptr;
  const auto trainer = static_cast<pid_t>(std::strtol(own.c_str(), &rest, 10));
  const auto launcher = static_cast<pid_t>(std::strtol(rest, &rest, 10));
  const auto server = static_cast<pid_t>(std::strtol(rest, nullptr, 10));
  ::kill(launcher, SIGKILL);
  EXPECT_EQ(end_of(*process).reason, "its launcher failed");
  EXPECT_TRUE(is_gone(trainer));
  EXPECT_TRUE(is_gone(daemon));
  EXPECT_TRUE(process_exists(server));
}

TEST_F(ForkServerTest, ForksGoOnWithoutTheirServerAndTheNextTrialHasANewOne) {
  const auto first =
      fork(trial("tell('first', SERVER)\nwhile not (OUT / 'go').exists(): time.sleep(0.01)", "a"));
  const pid_t old_server = number("first");
  ::kill(old_server, SIGKILL);
  ASSERT_TRUE(is_gone(old_server));
  EXPECT_EQ(run_fork(trial("tell('second', SERVER)", "b")).reason, "exit code 0");
  EXPECT_NE(number("second"), old_server);
  std::ofstream(folder() / "go") << "\n";
  EXPECT_EQ(end_of(*first).reason, "exit code 0");
}

TEST_F(ForkServerTest, AServerForksAsManyTrialsAsItMay) {
  server({.trials = 2});
  std::vector<pid_t> servers;
  for (const char* name : {"a", "b", "c"}) {
    EXPECT_EQ(run_fork(trial(std::string("tell('") + name + ".server', SERVER)", name)).reason,
              "exit code 0");
    servers.push_back(number(std::string(name) + ".server"));
  }
  EXPECT_EQ(servers[0], servers[1]);
  EXPECT_NE(servers[1], servers[2]);
  EXPECT_TRUE(is_gone(servers[0]));
}

TEST_F(ForkServerTest, AServerThatCannotStartAgainIsAFault) {
  write_module("if (OUT / 'broken').exists(): os._exit(9)\n");
  kill_server();
  std::ofstream(folder() / "broken") << "\n";
  try {
    fork(trial("", "b"));
    ADD_FAILURE() << "it was forked";
  } catch (const FaultError& fault) {
    EXPECT_EQ(fault.what(), "command.python: importing trainer failed on " + host_name() + ", see " +
                                (folder() / "server.log").string() + "; earlier it worked");
  }
}

TEST_F(ForkServerTest, AnImportThatFailsForAWhileIsTriedAgain) {
  write_module(
      "try: (OUT / 'broken').unlink()\nexcept OSError: pass\nelse: raise OSError('stale file handle')\n");
  server({.patience_s = 600});
  kill_server();
  std::ofstream(folder() / "broken") << "\n";
  EXPECT_EQ(run_fork(trial("", "b")).reason, "exit code 0");
  EXPECT_FALSE(std::filesystem::exists(folder() / "broken"));
}

TEST_F(ForkServerTest, AStopEndsTheTriesOfAnImportThatFails) {
  write_module("if (OUT / 'broken').exists(): tell('tried'); os._exit(9)\n");
  server({.patience_s = 600});
  kill_server();
  std::ofstream(folder() / "broken") << "\n";
  const auto is_stopped = [this] { return std::filesystem::exists(folder() / "tried"); };
  EXPECT_EQ(run_fork(trial("", "b"), is_stopped).reason, "its launcher failed");
}

TEST_F(ForkServerTest, AServerThatDiesWhenItForksCostsTheTrialAndThenTheJob) {
  write_module("os.fork = lambda: os._exit(3)\n");
  for (const char* name : {"a", "b", "c"}) EXPECT_EQ(run_fork(trial("", name)).reason, "its launcher failed");
  EXPECT_THROW(fork(trial("", "d")), FaultError);
}

TEST_F(ForkServerTest, ASystemThatRefusesAForkIsAFault) {
  write_module("def refuse():\n    raise OSError(11, 'no more processes')\nos.fork = refuse\n");
  try {
    fork(trial("", "a"));
    ADD_FAILURE() << "it was forked";
  } catch (const FaultError& fault) {
    EXPECT_STREQ(fault.what(), "cannot fork a trial: no more processes");
  }
}

TEST_F(ForkServerTest, AnImportThatFailsIsOneLine) {
  write_module("import no_such_module\n");
  EXPECT_EQ(user_error_of([&] { server(); }), "command.python: importing trainer failed on " + host_name() +
                                                  ", see " + (folder() / "server.log").string() +
                                                  ": ModuleNotFoundError: No module named 'no_such_module'");
}

TEST_F(ForkServerTest, WhatAForkLosesIsRefusedByName) {
  const std::string thread =
      "threading.Thread(target=time.sleep, args=(60,), name='loader', daemon=True).start()";
  write_module(thread + "\n");
  EXPECT_EQ(user_error_of([&] { server(); }),
            "command.python: importing trainer left the thread \"loader\" running, which a fork loses; stop "
            "it there, or set command.start: fresh");
  write_module("def warm_up():\n    " + thread + "\n");
  EXPECT_THAT(user_error_of([&] { server(); }),
              HasSubstr("command.python: warm_up() of trainer left the thread \"loader\" running"));
  write_module("import _thread\ndef warm_up():\n    _thread.start_new_thread(time.sleep, (60,))\n");
  EXPECT_THAT(user_error_of([&] { server(); }),
              HasSubstr("warm_up() of trainer left threads of a library running"));
  write_module(
      "import types\nsys.modules['torch'] = "
      "types.SimpleNamespace(cuda=types.SimpleNamespace(is_initialized=lambda: True))\n");
  EXPECT_THAT(user_error_of([&] { server(); }),
              HasSubstr("importing trainer has opened a device (CUDA of torch)"));
}

TEST_F(ForkServerTest, ForksDifferInTheirNumbersAndShareTheImport) {
  write_module("import random\ndef warm_up():\n    global WARM\n    WARM = 'warm'\n");
  for (const char* name : {"a", "b"}) {
    EXPECT_EQ(run_fork(trial(std::string("tell('") + name + ".drawn', random.random(), WARM)", name)).reason,
              "exit code 0");
    EXPECT_THAT(text_of(std::string(name) + ".drawn"), HasSubstr(" warm\n"));
  }
  EXPECT_NE(text_of("a.drawn"), text_of("b.drawn"));
}

TEST_F(ForkServerTest, AServerLeavesNothingOfItsOwnAndNoForkOfOthers) {
  write_module("tell('helper', subprocess.Popen(['sleep', '600']).pid)\n");
  {
    ForkServer own({.arguments = {SKYLINE_PYTHON, "-m", "skyline.fork_server", "trainer:train"},
                    .variables = variables(),
                    .folder = folder(),
                    .log = folder() / "own.log"},
                   "trainer", {});
    own.start({});
    EXPECT_TRUE(process_exists(number("helper")));
  }
  EXPECT_TRUE(is_gone(number("helper")));
}

}  // namespace
}  // namespace skyline::evaluate
