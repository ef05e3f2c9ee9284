"""Searches over a trainer of the user's own: its results, its failures, its environment, and how all of it ends."""

import contextlib
import ctypes
import json
import os
import pathlib
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import unittest

from command_case import TrainerCase
from skyline_runs import PROGRAM, SOURCE, TIMEOUT_S, checksum, processes_of_session, read_json

STOPPED, NO_FRONT, OUTSIDE = 75, 3, 76
HOST = "HOST" if re.search("[0-9.-]", socket.gethostname()) else socket.gethostname()  # else it may be a word of the language
FAULTS = {  # action of the trainer: status of its trial, and the beginning of the reason
    "exit": ("program", "exit code 3: last words"),
    "raise": ("program", "exit code 1: OSError: no data in {folder}/a, TMPDIR/... at 0x..., " + HOST + ", pid N"),
    "signal": ("exception", "signal SIGSEGV"),
    "wrapped": ("exception", "signal SIGKILL (exit code 137)"),
    "nothing": ("program", ""),
    "twice": ("program", ""),
    "half": ("program", ""),
    "nan": ("program", ""),
    "undeclared": ("ok", ""),
    "outside": ("program", ""),
    "memory": ("out_of_memory", ""),
    "file": ("ok", ""),
    "daemon": ("ok", ""),
    "flood": ("ok", ""),
    "well": ("ok", ""),
}


def exchange(one, other):
    """Swaps two folders in one step: a job that saw none for a moment would call that a fault of the file system."""
    here, in_exchange = -100, 2  # AT_FDCWD, RENAME_EXCHANGE
    if ctypes.CDLL(None, use_errno=True).renameat2(here, bytes(one), here, bytes(other), in_exchange) != 0:
        raise OSError(ctypes.get_errno(), "renameat2")


class Command(TrainerCase):
    def test_a_search_is_the_same_for_any_number_of_ranks(self):
        config = self.config("{a: {range: [1, 4]}, b: {choice: [x, y]}}", ", deterministic: true",
                             "{algorithm: evolution_pareto, iterations: 2, initial: 4, max_unseen: 3}",
                             rest="final: {epochs: 2}\n")
        for ranks in (1, 2, 3):
            self.skyline("search", config, "--run", f"ranks{ranks}", ranks=ranks)
            self.check_nothing_is_left(f"ranks{ranks}")
        self.assertEqual(self.canonical("ranks1"), self.canonical("ranks2"))
        self.assertEqual(self.canonical("ranks1"), self.canonical("ranks3"))
        trials = self.trials("ranks2")
        self.assertGreaterEqual(len(trials), 5)
        self.assertEqual({trial["status"] for trial in trials}, {"ok"})

    def test_every_way_to_fail_has_a_reason_and_a_log(self):
        config = self.config(f"{{does: {{choice: [{', '.join(FAULTS)}]}}}}", ", limits: {memory: 200 MB}, log_limit: 1 MiB")
        temporary = self.folder / "tmp"
        temporary.mkdir()
        done = self.skyline("search", config, "--run", "faults", ranks=2, environment={"TMPDIR": str(temporary)})
        self.check_nothing_is_left("faults")
        found = {trial["parameters"]["does"]: (trial["status"], trial.get("reason", "")) for trial in self.trials("faults")}
        for does, (status, reason) in FAULTS.items():
            with self.subTest(does=does):
                self.assertEqual(found[does][0], status, found[does])
                self.assertTrue(found[does][1].startswith(reason), found[does])
        logs = self.folder / "faults/logs/trials"
        numbers = {trial["parameters"]["does"]: trial["trial"] for trial in self.trials("faults")}
        self.assertIn("last words", (logs / f"{numbers['exit']}.failed.log").read_text())
        self.assertIn(r"\x1b[31mlast words\x1b[0m", done.stderr)
        self.assertNotIn("\x1b[31m", done.stderr)
        self.assertLess((logs / f"{numbers['flood']}.log").stat().st_size, 3 << 20)
        starts = self.starts()
        self.assertEqual(starts.count(str(numbers["exit"])), 1, "an exit code is a result")
        self.assertEqual(starts.count(str(numbers["signal"])), 2, "a signal is tried once more")
        self.assertEqual(starts.count(str(numbers["wrapped"])), 2, "and so is one that a wrapper tells of")
        self.assertRegex(done.stdout, r"\nskyline: done: \d+ trials \(\d+ failed\), .*; trials failed most often as \w+ \(\d+ of \d+\): [^\n]*\n$")
        self.assertIn("the result has `other`, which is no declared metric (score); it is left out", done.stderr)
        self.assertEqual(list(temporary.glob("sky-*")), [])

    def test_a_program_that_fails_in_silence_has_printed_nothing(self):
        (self.folder / "silent.yaml").write_text("space: {parameters: {width: {choice: [8]}}}\nobjectives: [minimize: y]\n"
                                                 "command: {run: ['false', '{width}'], metrics: {y: {better: lower}}}\n"
                                                 "search: {algorithm: exhaustive}\n")
        done = self.skyline("search", "silent.yaml", "--run", "silent", expect=NO_FRONT)
        self.assertIn("warning: trial 0: exit code 1; nothing was printed\n", done.stderr)

    def test_an_exit_code_is_tried_again_if_the_user_says_so(self):
        config = self.config("{does: {choice: [exit]}}", ", retries: 2")
        self.skyline("search", config, "--run", "retries", expect=NO_FRONT)
        self.assertEqual(self.starts(), ["0", "0", "0"])
        self.assertEqual(len(list((self.folder / "retries/logs/trials").glob("0.failed*.log"))), 3)

    def test_a_port_that_somebody_else_has_is_another_port_and_no_failure(self):
        self.skyline("search", self.config("{does: {choice: [port]}}"), "--run", "ports")
        self.assertEqual(self.starts(), ["0"] * 4)
        self.assertEqual([trial["status"] for trial in self.trials("ports")], ["ok"])

    def test_a_repeated_attempt_reports_its_curve_again(self):
        config = self.config("{does: {choice: [points]}}", ", retries: 1")
        self.skyline("search", config, "--run", "points")
        courses = [json.loads(line) for path in (self.folder / "points/courses").iterdir() for line in path.read_text().splitlines()]
        self.assertEqual([point for course in courses for point in course.get("points", [])], [[1, 5]])

    def test_a_host_without_room_ends_the_job_and_fails_no_trial(self):
        temporary = self.folder / "small"
        temporary.mkdir()
        config = self.config("{does: {choice: [clear]}, n: {range: [1, 3]}}", ", deterministic: true", rest="run: {window: 1}\n")
        done = self.skyline("search", config, "--run", "room", expect=OUTSIDE, environment={"TMPDIR": str(temporary)})
        self.assertIn("is no folder", done.stderr)
        self.assertEqual(self.canonical("room").count('"status"'), self.canonical("room").count('"status":"ok"'))

    def test_a_run_is_resumed_where_its_trainer_starts_or_elsewhere_by_a_job_that_is_told_so_and_holds_the_run(self):
        config = self.config("{does: {choice: [well]}, n: {range: [1, 9]}}", search="{algorithm: random, trials: 4}")
        (elsewhere := self.folder / "elsewhere").mkdir()
        resume = ("search", config, "--run", self.folder / "place", "--resume", "--set")
        moved = (*resume, "search.trials=5", "--moved")
        with self.held_after(1, "search", config, "--run", "place") as job:
            self.assertIn("is in use by", self.skyline(*moved, expect=2, cwd=elsewhere).stderr)
        self.assertEqual(job.wait(TIMEOUT_S), 0)
        gone = self.trainer.rename(self.trainer.with_suffix(".gone"))
        self.assertIn("is not there on", self.skyline(*moved, expect=2, cwd=elsewhere).stderr)
        gone.rename(self.trainer)
        here = f"this run's trainer starts in {self.folder}: resume it from there, not from {elsewhere}, or add --moved\n"
        self.assertIn(here, self.skyline(*resume, "search.trials=5", expect=2, cwd=elsewhere).stderr)
        self.skyline(*moved, ranks=2, cwd=elsewhere)
        self.skyline(*resume, "search.trials=6", cwd=elsewhere)
        self.assertEqual(len(self.trials("place")), 6)

    def test_what_may_change_results_may_not_change_when_a_run_is_resumed(self):
        config = self.config("{does: {choice: [well]}, n: {range: [1, 4]}}", search="{algorithm: random, trials: 2}")
        self.skyline("search", config, "--run", "changed")
        self.skyline("search", config, "--run", "changed", "--resume", "--set", "command.retries=3", "--set", "search.trials=3")
        done = self.skyline("search", config, "--run", "changed", "--resume", "--set", "command.env.OTHER=1", expect=2)
        self.assertIn("`command.env.OTHER` differs between", done.stderr)
        metrics = "command.metrics={score: {better: higher, range: [0, 99]}}"  # the run's ideal is outside of it
        done = self.skyline("search", config, "--run", "changed", "--resume", "--set", metrics, expect=2)
        self.assertIn("`command.metrics", done.stderr)
        self.assertIn("differs between", done.stderr)

    def test_a_trainer_that_was_edited_is_refused_unless_that_is_said_and_then_journalled(self):
        config = self.config("{does: {choice: [well]}, n: {range: [1, 8]}}", ", deterministic: true", "{algorithm: exhaustive, trials: 2}")
        self.skyline("search", config, "--run", "edited", ranks=2)
        begun = self.canonical("edited")
        self.assertEqual(json.loads(begun.splitlines()[0])["programs"][str(self.trainer)], checksum(self.trainer.read_text()))
        self.skyline("search", config, "--run", "edited", "--resume", "--changed")
        self.assertEqual(self.canonical("edited"), begun, "nothing has changed")

        text = self.trainer.read_text() + "\n"
        self.trainer.write_text(text)
        more = ("search", config, "--run", "edited", "--resume", "--set", "search.trials=4")
        told = (f"{self.trainer}` has changed since its trials were trained, and its results would be of two versions: restore what "
                f"was there, begin a run in another folder, or add --changed (checksum {checksum(text)[:12]}, was "
                f"{checksum(text[:-1])[:12]})\n")
        self.assertIn("skyline: --resume edited: `" + told, self.skyline(*more, ranks=2, expect=2).stderr)
        self.assertEqual(self.canonical("edited"), begun)
        done = self.skyline(*more, "--changed", ranks=2)
        self.assertIn("files that trials depend on have changed: the journal says so after its first 2 trials", done.stderr)
        lines = self.canonical("edited").splitlines()
        self.assertEqual(json.loads(lines[3]), {"changed": {str(self.trainer): checksum(text)}})
        self.assertEqual([json.loads(line).get("position") for line in lines[1:]], [0, 1, None, 2, 3])
        # The journal has that line already, so --changed is not needed.
        self.skyline("search", config, "--run", "edited", "--resume", "--set", "search.trials=5")
        self.assertEqual(len(self.trials("edited")), 5)

        train = ("train", "edited", "--trial", 4, "--epochs", 2)
        self.skyline(*train, "--run", "again")
        self.trainer.write_text(text + "\n")
        refused = self.skyline(*train, "--run", "final", expect=2).stderr
        self.assertIn(f"skyline: {self.folder.resolve()}/edited: `{told.partition(' (')[0]} (checksum ", refused)
        self.assertFalse((self.folder / "final").exists())
        self.skyline(*train, "--run", "final", "--changed")
        lines = [json.loads(line) for line in self.canonical("final").splitlines()]
        self.assertEqual(lines[0]["programs"][str(self.trainer)], checksum(text))
        self.assertEqual(lines[2], {"changed": {str(self.trainer): checksum(text + "\n")}})
        self.trainer.unlink()
        self.assertIn("` (not there) has changed", self.skyline("search", "--run", "edited", "--resume", "--set", "search.trials=6", "--set",
                                                                 "command.prepare=['true']", expect=2).stderr)

    def test_a_run_without_checksums_of_its_trainer_is_resumed_and_told_once(self):
        config = self.config("{does: {choice: [well]}, n: {range: [1, 8]}}", search="{algorithm: exhaustive, trials: 2}")
        self.skyline("search", config, "--run", "before")
        journal = self.folder / "before/journal.jsonl"
        header, rest = journal.read_text().split("\n", 1)
        entry = json.loads(header)
        del entry["programs"], entry["sum"]
        body = json.dumps(entry, separators=(",", ":"))[:-1]
        journal.write_text(f'{body},"sum":"{checksum(body)}"}}\n{rest}')
        self.trainer.write_text(self.trainer.read_text() + "\n")
        done = self.skyline("search", config, "--run", "before", "--resume", "--set", "search.trials=4", ranks=2)
        self.assertEqual(done.stderr.count("has no checksums of the trainer's files: whether they have changed is not checked"), 1)
        self.assertEqual(self.canonical("before").count("changed") + self.canonical("before").count("programs"), 0)

    def test_results_that_wait_for_their_commit_are_of_the_trainer_that_the_journal_names(self):
        config = self.config("{does: {choice: [well]}, n: {range: [1, 8]}}", search="{algorithm: exhaustive, trials: 2}")
        self.skyline("search", config, "--run", "waits")
        (self.folder / "waits/checkpoints").mkdir(exist_ok=True)
        waiting = self.folder / "waits/checkpoints/results.0.jsonl"
        header, *_, last = (self.folder / "waits/journal.jsonl").read_text().splitlines(keepends=True)
        waiting.write_text(header + last)
        self.trainer.write_text(self.trainer.read_text() + "\n")
        self.skyline("search", config, "--run", "waits", "--resume", "--set", "search.trials=3", expect=2)
        self.assertTrue(waiting.exists())
        self.skyline("search", config, "--run", "waits", "--resume", "--set", "search.trials=3", "--changed")
        self.assertFalse(waiting.exists())

    def test_parameters_of_the_trainer_count_in_a_space_with_a_network(self):
        config = self.config("{w: {choice: [1, 2]}, lr: {choice: [0.1, 0.2]}}", ", deterministic: true")
        text = config.read_text().replace("{choice: [0.1, 0.2]}}}", "{choice: [0.1, 0.2]}}, network: [flatten, linear: {features: $w}, "
                                          "linear: {features: $classes}]}\ndata: {shape: [1, 2, 2], classes: 2}")
        config.write_text(text)
        self.skyline("search", config, "--run", "network", ranks=2)
        self.assertEqual(len(self.trials("network")), 4)
        self.skyline("status", "network")

    def test_a_stop_ends_the_trainers_and_the_next_job_goes_on(self):
        config = self.config("{does: {choice: [sleep]}, deaf: {choice: [false, true]}, n: {range: [1, 6]}, seconds: {choice: [0.2]}, held: {choice: [3]}}",
                             ", deterministic: true, grace: 1 s", rest="run: {window: 6}\n")
        go = self.marks / "go"
        go.touch()
        self.skyline("search", config, "--run", "whole", ranks=2)
        go.unlink()
        self.stop_after(2, "search", config, "--run", "stopped", ranks=2)
        go.touch()
        self.assertRegex((self.folder / "stopped/logs/skyline.log").read_text(), r"all results are saved; \d trials? that w(as|ere) running begins? again: run again")
        self.check_nothing_is_left("stopped")
        lines = self.canonical("stopped").splitlines()
        self.assertLess(len(lines), 13, "stopped too late to show anything")
        self.skyline("search", config, "--run", "stopped", "--resume", ranks=3)
        self.assertEqual(self.canonical("stopped"), self.canonical("whole"))

    def test_status_shows_what_running_trials_have_reported(self):
        config = self.config("{does: {choice: [sleep]}, seconds: {choice: [600]}}", ", grace: 1 s")
        job = self.start("search", config, "--run", "watched", ranks=2)
        deadline = time.monotonic() + TIMEOUT_S
        while "step " not in (shown := self.skyline("status", "watched").stdout if (self.folder / "watched/journal.jsonl").exists() else ""):
            self.assertLess(time.monotonic(), deadline, shown)
            time.sleep(0.1)
        self.assertRegex(shown, r"rank \d slot \d: trial 0, for .*, step \d+: score=\d+, does=sleep")
        job.send_signal(signal.SIGUSR1)
        self.assertEqual(job.wait(TIMEOUT_S), STOPPED)

    def test_a_folder_of_the_run_that_is_swapped_ends_the_job(self):
        config = self.config("{does: {choice: [sleep]}, n: {range: [1, 40]}}", rest="run: {window: 1}\n")
        for name in ("trainer", "logs/trials"):
            run = "swapped_" + name[0]
            begun = len(self.starts())
            job = self.start("search", config, "--run", run)
            self.wait_until(lambda: len(self.starts()) >= begun + 2, "no second trial")  # which sleeps for a second
            folder = self.folder / run / name
            moved = folder.with_name("moved")
            moved.mkdir()
            exchange(folder, moved)
            ended, log = job.wait(TIMEOUT_S), (self.folder / run / "logs/skyline.log").read_text()
            self.assertEqual(ended, 2, log)
            self.assertIn(f"{name}: another folder has taken its place", log)

    def test_no_trainer_outlives_a_killed_rank_or_job(self):
        """SKYLINE_KILLS=200 kills at 200 random moments; by hand."""
        config = self.config("{does: {choice: [sleep]}, deaf: {choice: [true]}, n: {range: [1, 8]}}", ", deterministic: true",
                             rest="run: {window: 8}\n")
        self.skyline("search", config, "--run", "undisturbed", ranks=2)
        kills = int(os.environ.get("SKYLINE_KILLS", "3"))
        draws, longest_s = random.Random(kills), 0
        for moment in range(kills):
            target = ("rank", "job", "mpirun")[moment % 3]
            with self.subTest(moment=moment, target=target):
                job = self.start("search", config, "--run", f"killed{moment}", ranks=2)
                self.wait_for_lines(f"killed{moment}", 0)
                time.sleep(draws.uniform(0, 4))
                self.kill_some(job, target)
                longest_s = max(longest_s, self.check_no_process_is_left())
                self.skyline("search", config, "--run", f"killed{moment}", "--resume", "--wait", "1m", ranks=2)
                self.assertEqual(self.canonical(f"killed{moment}"), self.canonical("undisturbed"))
                shutil.rmtree(self.folder / f"killed{moment}")
        print(f"trainers outlived what was killed by {longest_s:.2f} s at most", file=sys.stderr)

    def kill_some(self, job, target):
        """SIGKILL to a rank, to mpirun, or to both and all ranks, and to nothing that they started."""
        names = {}
        for process in processes_of_session(job.pid):
            with contextlib.suppress(OSError):  # it has just ended
                names[process] = pathlib.Path(f"/proc/{process}/comm").read_text().strip()
        ranks = [process for process, name in names.items() if name == PROGRAM.name[:15]]
        for process in {"rank": ranks[-1:], "mpirun": [job.pid], "job": [*ranks, job.pid]}[target]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        job.wait(TIMEOUT_S)
        self.wait_until(lambda: target != "mpirun" or not any(map(self.is_alive, ranks)), "they do not notice that mpirun is gone")

    @staticmethod
    def is_alive(process):
        try:
            return pathlib.Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
        except OSError:
            return False

    def test_a_trainer_gets_listed_variables_and_no_others(self):
        [seen] = self.probe("variables", ", threads: 1, pass: [SECRET_OF_TEST], device: cpu",
                            environment={"SECRET_OF_TEST": "hush-hush", "OTHER": "x", "LC_ALL": "C", "NCCL_DEBUG": "INFO"})
        variables = seen["variables"]
        for name in variables:
            self.assertFalse(name.startswith(("OMPI_", "PMIX_", "PRTE_", "PMI_", "SLURM_", "MPI", "OPAL_")), name)
        self.assertNotIn("OTHER", variables)
        self.assertEqual(variables["SECRET_OF_TEST"], "hush-hush")
        self.assertEqual((variables["LC_ALL"], variables["NCCL_DEBUG"]), ("C", "INFO"))
        self.assertEqual((variables["OMP_NUM_THREADS"], variables["CUDA_VISIBLE_DEVICES"]), ("1", ""))
        self.assertFalse(pathlib.Path(variables["TMPDIR"]).exists(), "it is removed")
        self.assertTrue(variables["TORCH_EXTENSIONS_DIR"].startswith(str(self.folder / "variables/trainer/cache")))
        self.assertEqual(seen["descriptors"], [0, 1, 2, int(seen["report"])])
        self.assertEqual(seen["folder"], str(self.folder))
        self.assertEqual(len(seen["processors"]), 1)
        for path in (self.folder / "variables").rglob("*"):
            if path.is_file():
                self.assertNotIn(b"hush-hush", path.read_bytes(), path)

    def test_values_reach_the_trainer_as_they_are(self):
        [seen] = self.probe("values", arguments=["-{text}", "{{x}", "$HOME", "--epochs={epochs} {seed}", "{trial}"])
        text = "; rm -rf $(x)\n`y` {z}"
        trial = seen["trial"]
        self.assertEqual(seen["arguments"], ["-" + text, "{x}", "$HOME", f"--epochs=1 {trial['seed']}", "0"])
        self.assertEqual(trial["parameters"], {"does": "probe", "text": text})
        self.assertEqual((trial["epochs"], trial["final"], trial["trial"]), (1, False, "0"))
        self.assertLess(trial["seed"], 2 ** 31)

    def test_prepare_runs_once_a_host_and_its_failure_ends_the_job(self):
        prepare = json.dumps([sys.executable, "-c", f"import sys; open('{self.marks}/prepared', 'a').write(sys.argv[1])", "{cache}"])
        self.skyline("search", self.config("{n: {range: [1, 2]}}", f", prepare: {prepare}"), "--run", "prepared", ranks=2)
        text = (self.marks / "prepared").read_text()
        self.assertEqual(text.count("trainer/cache"), 1, text)
        config = self.config("{n: {range: [1, 2]}}", ", prepare: [python3, -c, \"import sys; sys.exit('no compiler')\"]")
        done = self.skyline("search", config, "--run", "unprepared", ranks=2, expect=2)
        self.assertRegex(done.stderr, r"command.prepare: failed with exit code 1 on \S+, see \S+/prepare\.\S+\.log: no compiler")
        self.skyline("search", self.config("{n: {range: [1, 2]}}"), "--run", "unprepared")

    def preparation(self, script, keys=""):
        """A configuration with a preparation, which has the test's file for marks as its argument."""
        config = self.config("{n: {range: [1, 2]}}")
        prepare = json.dumps([sys.executable, "-c", "import os, sys, time; mark = sys.argv[1]; " + script,
                              str(self.marks / "prepared"), str(self.trainer)])
        config.write_text(config.read_text().replace("command: {", f"command: {{prepare: {prepare}{keys}, "))
        return config

    def test_prepare_heeds_a_stop(self):
        config = self.preparation("first = not os.path.exists(mark); open(mark, 'w'); time.sleep(600 if first else 0)", ", grace: 1 s")
        job = self.start("search", config, "--run", "asked", ranks=2)
        self.wait_until((self.marks / "prepared").exists, "it does not prepare")
        job.send_signal(signal.SIGUSR1)
        self.assertEqual(job.wait(TIMEOUT_S), STOPPED)
        self.check_nothing_is_left("asked")
        self.skyline("search", config, "--run", "asked", "--resume", ranks=2)
        self.assertEqual(len(self.trials("asked")), 2)

    def test_prepare_ends_with_the_time_of_the_job(self):
        config = self.preparation("time.sleep(600)", ", grace: 1 s")
        done = self.skyline("search", config, "--run", "short", "--set", "run.time_limit=1 s", expect=STOPPED)
        self.assertIn("stopped at run.time_limit before the search began", done.stdout)
        self.check_nothing_is_left("short")

    def test_a_preparation_that_takes_too_long_ends_and_what_it_wrote_stays(self):
        for limit_s in (1, 10, 60):  # its Python may need longer to start
            config = self.preparation("open(os.environ['TMPDIR'] + '/half', 'w'); time.sleep(600)",
                                      f", grace: 1 s, prepare_timeout: {limit_s} s")
            done = self.skyline("search", config, "--run", "late", expect=2)
            self.assertIn(f"command.prepare: took longer than command.prepare_timeout ({limit_s} s) on ", done.stderr)
            kept = pathlib.Path(re.search("its TMPDIR stays in (\\S+) until the next job", done.stderr).group(1))
            if names := [path.name for path in kept.iterdir()]:
                break
        self.assertEqual(names, ["half"])
        self.check_nothing_is_left("late")
        self.skyline("search", self.config("{n: {range: [1, 2]}}"), "--run", "late")
        self.assertFalse(kept.exists())

    def test_a_lock_that_a_killed_trainer_left_does_not_hang_the_next_job(self):
        config = self.config("{n: {range: [1, 2]}}")
        self.skyline("search", config, "--run", "locked")
        [cache] = (self.folder / "locked/trainer/cache").iterdir()
        (cache / "torch_extensions/ops").mkdir(parents=True)
        (cache / "torch_extensions/ops/lock").write_text("")
        self.skyline("search", config, "--run", "locked", "--resume")
        self.assertFalse((cache / "torch_extensions/ops/lock").exists())

    def try_once(self, config, **more):
        """What a tried trial says, and what it leaves where temporary folders are."""
        temporary = self.folder / "tried"
        shutil.rmtree(temporary, ignore_errors=True)
        temporary.mkdir()
        done = self.skyline("validate", config, "--try", environment={"TMPDIR": str(temporary)}, **more)
        self.check_no_process_is_left()
        return done.stdout, done.stderr, list(temporary.iterdir())

    def test_a_tried_trial_names_no_file_that_is_gone(self):
        out, _, left = self.try_once(self.config("{does: {choice: [well]}}"))
        self.assertIn("printed: trial 0 does well\n", out)
        self.assertRegex(out, "reported: step 1: score=1\nprinted")
        self.assertNotIn("/logs/", out)
        self.assertEqual(left, [])
        out, warned, left = self.try_once(self.config("{does: {choice: [exit]}}"), expect=NO_FRONT)
        self.assertEqual(len(left), 1)
        self.assertIn(f"# its files stay in {left[0]}\n", out)
        self.assertTrue(pathlib.Path(re.search("the end of (\\S+):", warned).group(1)).is_file())

    def test_a_tried_trial_keeps_what_a_failed_preparation_left(self):
        out, warned, left = self.try_once(self.preparation("open(os.environ['TMPDIR'] + '/half', 'w'); sys.exit('no compiler')"), expect=2)
        self.assertTrue(pathlib.Path(re.search("see (\\S+\\.log)", warned).group(1)).is_file())
        self.assertTrue(pathlib.Path(re.search("TMPDIR stays in (\\S+)", warned).group(1)).is_dir())
        self.assertEqual(len(left), 2)
        self.assertIn("# its files stay in ", out)

    def test_a_tried_trial_ends_at_its_time_and_at_the_time_of_the_job(self):
        sleeper = "{does: {choice: [sleep]}, seconds: {choice: [600]}, deaf: {choice: [true]}}"
        out, _, left = self.try_once(self.config(sleeper, ", grace: 1 s", rest="run: {time_limit: 1 s}\n"), expect=STOPPED)
        self.assertIn("# stopped at run.time_limit\n", out)
        self.assertEqual(left, [])
        out, _, _ = self.try_once(self.config(sleeper, ", grace: 1 s", rest="run: {trial_timeout: 1 s}\n"), expect=NO_FRONT)
        self.assertIn("failed: exception: took longer than run.trial_timeout\n", out)

    def test_a_signal_ends_a_tried_trial_and_removes_its_folder(self):
        for sent in (signal.SIGINT, signal.SIGTERM):
            config = self.config("{does: {choice: [sleep]}, seconds: {choice: [600]}}", ", grace: 1 s")
            temporary = self.folder / f"tried{sent}"
            temporary.mkdir()
            job = subprocess.Popen(self.command("validate", config, "--try"), cwd=self.folder, stdout=subprocess.PIPE, text=True,
                                   env={**os.environ, "TMPDIR": str(temporary)})
            for line in job.stdout:
                if line.startswith("reported: step 2:"):
                    job.send_signal(sent)
            self.assertEqual(job.wait(TIMEOUT_S), STOPPED)
            self.check_no_process_is_left()
            self.assertEqual(list(temporary.iterdir()), [])

    def test_the_shipped_example_ends_with_a_front(self):
        done = self.skyline("validate", SOURCE / "configs/command.yaml", cwd=SOURCE)
        self.assertIn("command", done.stdout)
        self.skyline("search", SOURCE / "configs/command.yaml", "--run", self.folder / "example", ranks=2, cwd=SOURCE)
        trials = self.trials("example")
        self.assertEqual({trial["status"] for trial in trials}, {"ok"})
        self.assertGreater(max(trial["metrics"]["accuracy"] for trial in trials), 70)
        self.assertGreater(len(read_json(self.folder / "example/pareto.json")["search_front"]), 1)


if __name__ == "__main__":
    unittest.main()
