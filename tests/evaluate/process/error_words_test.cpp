#include "evaluate/process/error_words.hpp"

#include "support/scratch_folder.hpp"

#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace skyline::evaluate {
namespace {

std::string words_of(const std::string& log) {
  std::vector<std::string> lines;
  std::size_t begin = 0;
  while (begin < log.size()) {
    const std::size_t end = std::min(log.find('\n', begin), log.size());
    if (end > begin) lines.push_back(log.substr(begin, end - begin));
    begin = end + 1;
  }
  return error_words(lines);
}

using Cases = std::vector<std::pair<const char*, const char*>>;

TEST(ErrorWordsTest, ExceptionsOfPythonAreTypeAndFirstLine) {
  const Cases cases{
      {"Traceback (most recent call last):\n  File \"t.py\", line 3, in f\n    raise "
       "ValueError(\"no\")\nValueError: no\n",
       "ValueError: no"},
      {"Traceback (most recent call last):\n  File \"t.py\", line 3\nAssertionError\nepoch 4 of 9\n",
       "AssertionError"},
      {"Traceback (most recent call last):\n  File \"t.py\", line 3\nmodule.Odd: first\nsecond\n  third: "
       "error: x\n",
       "module.Odd: first"},
      {"Traceback (most recent call last):\n  File \"t.py\", line 3\nRuntimeError: \n  the sizes differ\n",
       "RuntimeError: the sizes differ"},
      {"  File \"t.py\", line 1\n    x =\n       ^\nSyntaxError: invalid syntax\n",
       "SyntaxError: invalid syntax"},
      {"[rank1]: Traceback (most recent call last):\n[rank1]:   File \"t.py\", line 3\n[rank1]: OSError: "
       "gone\n",
       "OSError: gone"},
      // chained
      {"Traceback (most recent call last):\n  File \"t.py\", line 3\nKeyError: 'a'\n\nDuring handling of the "
       "above "
       "exception, another exception occurred:\n\nTraceback (most recent call last):\n  File \"t.py\", line "
       "5\nTypeError: b\n",
       "TypeError: b"},
      // groups: with frames, without, nested
      {"  + Exception Group Traceback (most recent call last):\n  |   File \"t.py\", line 5, in <module>\n  "
       "|     f()\n"
       "  | ExceptionGroup: unhandled errors in a TaskGroup (2 sub-exceptions)\n  +-+---------------- 1 "
       "----------------\n"
       "    | Traceback (most recent call last):\n    |   File \"t.py\", line 2, in f\n    | ValueError: a\n"
       "    +---------------- 2 ----------------\n    | ValueError: b\n    "
       "+------------------------------------\n",
       "ExceptionGroup: unhandled errors in a TaskGroup (2 sub-exceptions): ValueError: a"},
      {"  + Exception Group Traceback (most recent call last):\n  |   File \"t.py\", line 5, in <module>\n"
       "  | ExceptionGroup: outer (1 sub-exception)\n  +-+---------------- 1 ----------------\n"
       "    | ExceptionGroup: inner (1 sub-exception)\n    +-+---------------- 1 ----------------\n"
       "      | OSError: leaf\n      +------------------------------------\n",
       "ExceptionGroup: outer (1 sub-exception): OSError: leaf"},
      // what a library `rich` draws
      {"╭──── Traceback (most recent call last) ────╮\n│ t.py:3 in f │\n╰─────────────╯\nValueError: no\n",
       "ValueError: no"},
      // what ended nothing, or says only that a child failed
      {"Traceback (most recent call last):\n  File \"t.py\", line 3\nValueError: no\nException ignored in: "
       "<function "
       "A.__del__ at 0x7f>\nTraceback (most recent call last):\n  File \"t.py\", line 9\nAttributeError: x\n",
       "ValueError: no"},
      {"Exception in thread Thread-1 (f):\nTraceback (most recent call last):\n  File \"t.py\", line "
       "3\nValueError: t\n",
       "ValueError: t"},
      {"Task exception was never retrieved\nfuture: <Task finished name='Task-2'>\nTraceback (most recent "
       "call last):\n"
       "  File \"t.py\", line 3\nValueError: async\n",
       "ValueError: async"},
      {"Traceback (most recent call last):\n  File \"t.py\", line 3\nValueError: no\nE1129 12:00:00.1 77 "
       "api.py:9] failed "
       "(exitcode: 1)\nTraceback (most recent call last):\n  File \"run.py\", line 3\n"
       "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n=====\ntrain.py FAILED\n",
       "ValueError: no"},
  };
  for (const auto& [log, words] : cases) EXPECT_EQ(words_of(log), words) << log;
}

TEST(ErrorWordsTest, OtherProgramsAreTheLineOfTheErrorAndNotWhatStandsBehindIt) {
  const Cases cases{
      {"", ""},
      {"last words\n", "last words"},
      {"epoch 3: loss 0.25\n", ""},
      {"run failed: no data\nPlease check the path.\n", "run failed: no data"},
      {"Check failed: a == b\n", "Check failed: a == b"},
      {"elapsed: 12.25\n", ""},
      {"2681 1795956765.88 0x7f12\n", ""},
      {"\\x1b[31mlast words\\x1b[0m\n", "last words"},
      {"loss error: 0.25\nno compiler\n", "no compiler"},
      {"--width is required\nRun with --help for more information.\n", "--width is required"},
      {"usage: t.py [-h]\nt.py: error: the following arguments are required: --x\n",
       "t.py: error: the following arguments are required: --x"},
      {"Usage: t [OPTIONS]\nTry 't --help' for help.\n\nError: No such option: --y\n",
       "Error: No such option: --y"},
      {"thread 'main' panicked at 'boom', src/main.rs:2:5\nnote: run with `RUST_BACKTRACE=1` environment "
       "variable\n",
       "panicked at 'boom', src/main.rs:2:5"},
      {"thread 'main' (412) panicked at src/main.rs:2:5:\nboom\nnote: run with `RUST_BACKTRACE=1`\n",
       "panicked at src/main.rs:2:5: boom"},
      {"error[E0308]: mismatched types\n --> a.rs:1:1\n  |\nerror: aborting due to 1 previous error\n",
       "error[E0308]: mismatched types"},
      {"a.c:3:5: error: 'x' undeclared\n    3 | x\na.c:4:5: error: 'y' undeclared\nmake: *** [all] Error 1\n",
       "a.c:3:5: error: 'x' undeclared"},
      {"ERROR: LoadError: boom\nStacktrace:\n [1] error(s::String)\nin expression starting at t.jl:1\n",
       "ERROR: LoadError: boom"},
      {"Error in f(x) : object 'y' not found\nCalls: f\nExecution halted\n",
       "Error in f(x) : object 'y' not found"},
      {"Error in readRDS(file) : \n  unknown input format\nExecution halted\n",
       "Error in readRDS(file) : unknown input format"},
      {"Error using f (line 3)\nToo many inputs.\n\nError in g (line 9)\n    f(1)\n",
       "Error using f (line 3): Too many inputs."},
      {"error: boom\nerror: called from\n    f at line 2 column 3\n", "error: boom"},
      {"Exception in thread \"main\" java.lang.IllegalStateException: no\n\tat "
       "Main.main(Main.java:3)\nCaused by: "
       "java.io.IOException: x\n\t... 1 more\n",
       "java.lang.IllegalStateException: no"},
      {"/a/x.js:3\nthrow new Error(\"boom\")\n^\n\nError: boom\n    at Object.<anonymous> "
       "(/a/x.js:3:7)\n\nNode.js v18.0.0\n",
       "Error: boom"},
      {"Unhandled exception. System.Exception: boom\n   at Program.Main()\n", "System.Exception: boom"},
      {"panic: boom\n\ngoroutine 1 [running]:\nmain.main()\n\t/a/x.go:3\nexit status 2\n", "panic: boom"},
      {"terminate called after throwing an instance of 'std::runtime_error'\n  what():  boom\n",
       "std::runtime_error: boom"},
      {"lua: x.lua:1: boom\nstack traceback:\n\t[C]: in ?\n", "lua: x.lua:1: boom"},
      {"x.rb:1:in `f': boom (RuntimeError)\n\tfrom x.rb:3:in `<main>'\n",
       "x.rb:1:in `f': boom (RuntimeError)"},
      {"t.sh: line 3: foo: command not found\n", "t.sh: line 3: foo: command not found"},
      {"2026-11-29 10:00:00,123 ERROR train - no data\n2026-11-29 10:00:00,124 INFO train - closed\n",
       "2026-11-29 10:00:00,123 ERROR train - no data"},
      {" 45%|####      | 45/100 [00:03<00:04, 11.2it/s]\n", ""},
  };
  for (const auto& [log, words] : cases) EXPECT_EQ(words_of(log), words) << log;
}

TEST(ErrorWordsTest, ANoticeOfMpirunIsNotTheError) {
  const std::string rule(74, '-');
  EXPECT_EQ(words_of("no data\n" + rule + "\nmpirun noticed: error: a process failed\n" + rule + "\n"),
            "no data");
}

TEST(ErrorWordsTest, WhatDiffersByHostAndTryIsReplaced) {
  const OwnNames names{{"/home/u/runs/a/trials/3/ab", "{folder}"},
                       {"/home/u/runs/a", "RUN"},
                       {"/tmp/sky-1-x", "TMPDIR"},
                       {"node7", "HOST"},
                       {"40123", "PID"}};
  const Cases cases{
      {"OSError: /home/u/runs/a/trials/3/ab/state.pt, /home/u/runs/a/trials/4/cd",
       "OSError: {folder}/state.pt, RUN/trials/4/cd"},
      {"no '/tmp/sky-1-x/tmpab12/x' nor /tmp/tmpq_1/y", "no 'TMPDIR/...' nor TMPDIR/..."},
      {"node7: node7.cluster.local:29500, node71 and 10.0.0.7:80", "HOST: HOST, node71 and ADDRESS"},
      {"boom, pid 4 (pid: 55), process 12 at port 29500", "boom, pid N (pid: N), process N at port N"},
      {"[40123] boom", "[PID] boom"},
      {"python3[40123]: boom", "python3[PID]: boom"},
      {"40123: boom", "PID: boom"},
      {"expected size 40123 but got [40123] of x[40123:], 401234",
       "expected size 40123 but got [40123] of x[40123:], 401234"},
      {"<a.B object at 0x7f12ab34cd00> has 0x10", "<a.B object at 0x...> has 0x10"},
      {"2026-11-29 10:00:00,123 ERROR no data since 2026-11-28T09:00:00Z, 10:11:12",
       "ERROR no data since TIME, TIME"},
      {"F20261129 12:00:00.123456 4021 x.cc:10] Check failed: a", "x.cc:10] Check failed: a"},
      {"no answer after 12.5 s, 3 steps, 1.2e3 images/s", "no answer after N s, 3 steps, N images/s"},
      {"[::1]:80 or fe80::1 at a::b", "[ADDRESS]:80 or ADDRESS at a::b"},
      {"id 123e4567-e89b-12d3-a456-426614174000", "id UUID"},
      {"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB. GPU 0 has a total capacity "
       "of 79 GiB",
       "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB"},
      {"ValueError: depth 2 of 0.5 is not for me", "ValueError: depth 2 of 0.5 is not for me"},
  };
  for (const auto& [words, same] : cases) EXPECT_EQ(without_places(words, names), same);
}

TEST(ErrorWordsTest, TheEndOfAReasonIsShort) {
  const testing::ScratchFolder folder;
  const auto log = folder.path() / "a.log";
  EXPECT_EQ(said_in(log, {}), "");
  std::ofstream(log) << "ValueError: " << std::string(900, 'x') << "\n";
  const std::string said = said_in(log, {});
  EXPECT_TRUE(said.starts_with(": ValueError: xxx") && said.ends_with("x...")) << said;
  EXPECT_LT(said.size(), 250U);
}

}  // namespace
}  // namespace skyline::evaluate
