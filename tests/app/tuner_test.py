"""Searches whose trials a program of the user chooses: `search: {algorithm: program, run: ...}`."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import unittest

from command_case import processes_with
from skyline_runs import SOURCE, TIMEOUT_S, RunsCase

CONFIG = [SOURCE / "configs/synthetic.yaml", "--set", "run.events=false", "--set", "objectives=[maximize: validation_accuracy]"]
FREE = ["--set", "constraints=[]"]
TUNER = SOURCE / "tests/app/tuner/random_tuner.py"
FAULT = 76


class Tuner(RunsCase):
    def tuner(self, *arguments, name=None):
        """A copy of the tuner has the test's name, by which its processes are found."""
        self.script = self.folder / f"{name or self.id().rsplit('.', 1)[-1]}.py"
        self.script.write_text(TUNER.read_text())
        return json.dumps([sys.executable, str(self.script), *arguments])

    def search(self, *arguments, trials=20, more="", free=True, name=None, **options):
        section = f"search={{algorithm: program, run: {self.tuner(*arguments, name=name)}, trials: {trials}{more}}}"
        return [*CONFIG, *(FREE if free else []), "--set", section, *options.pop("rest", ())]

    def refusal(self, *arguments, expect=2, **options):
        """The one line with which a search ends whose tuner misbehaves."""
        run = f"{self.id().rsplit('.', 1)[-1]}-{arguments[0]}"
        done = self.skyline("search", *self.search(*arguments, **options), "--run", run, expect=expect)
        lines = [line for line in done.stderr.splitlines() if line.startswith("skyline: ")]
        self.assertEqual(len(lines), 1, done.stderr)
        self.check_no_tuner_is_left()
        return lines[0]

    def tuners(self):
        """The processes of the tuner, without its launcher, in whose arguments the script is, too."""
        return [process for process in processes_with(self.script.name) if b"skyline-launch" not in pathlib.Path(f"/proc/{process}/cmdline").read_bytes()
                and b"search" not in pathlib.Path(f"/proc/{process}/cmdline").read_bytes()]

    def check_no_tuner_is_left(self):
        self.wait_until(lambda: not processes_with(self.script.name), "the tuner is still there")

    def test_the_journal_is_the_same_for_any_ranks_and_after_kills(self):
        search = [*self.search(trials=30), "--set", "synthetic.seconds_per_gflop=0.2"]
        self.skyline("search", *search, "--run", "one")
        whole = self.canonical("one")
        self.assertEqual(whole.count("\n"), 31)
        self.assertEqual({json.loads(line)["origin"] for line in whole.splitlines()[1:]}, {"program"})
        for ranks in (2, 3):
            self.skyline("search", *search, "--run", f"ranks-{ranks}", ranks=ranks)
            self.assertEqual(self.canonical(f"ranks-{ranks}"), whole)
        for ranks, trials in ((0, (3, 17)), (2, (9, 21))):
            run = f"killed-{ranks}"
            self.kill_after(trials[0], "search", *search, "--run", run, ranks=ranks)
            self.check_no_tuner_is_left()
            self.kill_after(trials[1], "search", *search, "--run", run, "--resume", ranks=ranks)
            done = self.skyline("search", *search, "--run", run, "--resume", ranks=3)
            self.assertEqual(done.stderr.count("gets the questions and results of the journal again"), 1)
            self.assertEqual(self.canonical(run), whole)
        self.check_no_tuner_is_left()

    def test_an_extended_search_has_the_journal_of_a_long_one(self):
        search = self.search(trials=8)
        self.skyline("search", *search, "--run", "long")
        self.skyline("search", *search, "--set", "search.trials=14", "--run", "long", "--resume")
        self.skyline("search", *search, "--set", "search.trials=14", "--run", "whole")
        self.assertEqual(self.canonical("long").splitlines()[1:], self.canonical("whole").splitlines()[1:])

    def test_with_a_window_of_one_it_knows_all_results(self):
        self.skyline("search", *self.search(trials=6), "--set", "run.window=1", "--run", "window")
        self.assertEqual(self.canonical("window").count("\n"), 7)

    def test_what_it_prints_is_in_a_log(self):
        self.skyline("search", *self.search(trials=4), "--run", "prints")
        self.assertEqual((self.folder / "prints/logs/tuner.log").read_text(), "what it prints goes to the log\n")

    def test_it_may_end_the_search(self):
        done = self.skyline("search", *self.search("done"), "--run", "ended")
        self.assertIn("the program of search.run has no more", done.stdout)
        self.assertEqual(self.canonical("ended").count("\n"), 4)

    def test_a_proposal_that_cannot_be_is_one_line(self):
        for how, said in (("rubbish", "its answer: expected an object of JSON in one line, got `no JSON`"),
                          ("long", "line 4 of its report: it is longer than 1048576 bytes"), ("bracket", "its answer: expected an object of JSON"),
                          ("list", "its answer: expected an object of JSON in one line, got `[1, 2]`"),
                          ("number", "its answer: answer: expected a list of proposals, got 3"),
                          ("outside", "its answer: `width`: expected one of its 4 values, 16, 32, 64, 128, got `17`"),
                          ("unknown", "its answer: the space has no parameter `widht`, did you mean `width`?"),
                          ("lacking", "its answer: lacks the parameter `depth`"),
                          ("many", "search.run: the proposal for trial 3: expected at most 1000 proposals, got 1001"),
                          ("none", 'the proposal for trial 3: expected a proposal, or `"done": true`, got neither'),
                          ("again", ": was proposed before, as trial 1"), ("uncalled", "the tuner was asked nothing, and sent `{\"answer\": [{")):
            with self.subTest(how):
                self.assertIn(said, self.refusal(how))

    def test_a_proposal_outside_of_conditions_and_constraints_is_one_line(self):
        rest = ("--set", "space.where=[$depth * $width < 1536]")
        self.assertRegex(self.refusal("forbidden", rest=rest), r"the proposal for trial 3: depth=12 kernel=\d width=128: .*where")
        done = self.skyline("search", *self.search("costly", free=False, rest=("--set", "constraints=[{flops: [0, 4.0e9]}]")), "--run", "costly", expect=2)
        self.assertRegex(done.stderr, r"the proposal for trial 3: depth=11 kernel=7 width=128: breaks the constraint `flops: \[0, 4000000000\]`: it has \d+")

    def test_a_tuner_that_does_not_answer_ends_the_job_which_another_one_resumes(self):
        for how, more, said in (("dead", "", r"has ended: exit code 1, see \S+/logs/tuner.log: ValueError: no idea for trial 3"),
                                ("silent", ", timeout: 2 s", r"has not answered for 2 s \(search.timeout\), see \S+/logs/tuner.log"),
                                ("suspended", ", timeout: 2 s", r"has not answered for 2 s \(search.timeout\)"),
                                ("closed", "", r"has closed its socket, and goes on")):
            with self.subTest(how):
                self.assertRegex(self.refusal(how, more=more, expect=FAULT), said)
                self.script.with_name(f"{self.script.name}.cured").touch()
                run = f"{self.script.stem}-{how}"
                self.skyline("search", "--run", run, "--resume", "--set", "search.timeout=10min")
                self.assertEqual(self.canonical(run).count("\n"), 21)
                self.script.with_name(f"{self.script.name}.cured").unlink()

    def test_a_tuner_that_never_reads_is_found_when_its_socket_is_full(self):
        large = ("--set", "space={parameters: {width: {range: [1000000001, 1000100000]}}, network: [flatten, linear: {features: $width - 1000000000}, "
                 "linear: {features: $classes}]}")  # a first line of more than 1 MB
        said = self.refusal("deaf", more=", timeout: 2 s", expect=FAULT, rest=large)
        self.assertRegex(said, r"the tuner has read nothing for 2 s \(search.timeout\), see \S+/logs/tuner.log")
        self.script.with_name(f"{self.script.name}.cured").touch()
        run = f"{self.script.stem}-deaf"
        self.skyline("search", "--run", run, "--resume", "--set", "search.timeout=10min")
        self.assertEqual(self.canonical(run).count("\n"), 21)

    def test_a_stop_is_heard_while_it_thinks_and_a_tuner_that_is_killed_is_named(self):
        search = self.search("silent")
        for run, signal_number, expect in (("stopped", signal.SIGUSR1, 75), ("killed", signal.SIGKILL, FAULT)):
            job = self.start("search", *search, "--run", run, stderr=subprocess.PIPE, text=True)
            self.wait_for_lines(run, 3)
            target = [job.pid] if signal_number == signal.SIGUSR1 else self.tuners()
            for process in target:
                os.kill(process, signal_number)
            _, said = job.communicate(timeout=TIMEOUT_S)
            self.assertEqual(job.returncode, expect, said)
            self.check_no_tuner_is_left()
        self.assertIn("has ended: signal SIGKILL, see ", said)
        self.script.with_name(f"{self.script.name}.cured").touch()
        for run in ("stopped", "killed"):
            self.skyline("search", "--run", run, "--resume", ranks=2)
        self.assertEqual(self.canonical("stopped"), self.canonical("killed"))

    def test_commits_by_virtual_time_have_one_journal_too(self):
        search = [*self.search(), "--set", "run.commit=virtual_time", "--set", "run.virtual_slots=3", "--set", "run.window=6",
                  "--set", "synthetic.seconds_per_gflop=0.2"]
        for ranks in (1, 3):
            self.skyline("search", *search, "--run", f"virtual-{ranks}", ranks=ranks)
        self.kill_after(7, "search", *search, "--run", "virtual-2", ranks=2)
        self.skyline("search", *search, "--run", "virtual-2", "--resume", ranks=2)
        self.assertEqual(len({self.canonical(f"virtual-{ranks}") for ranks in (1, 2, 3)}), 1)

    def test_a_program_that_is_not_there_is_refused_before_anything_is_written(self):
        for run, said in (("[no_such_program]", "search.run[0]: `no_such_program` is in no folder of PATH on "),
                          ("[python3, nowhere.py]", "search.run[1]: `nowhere.py` is not there on "), ("[]", "expected a program and its arguments"),
                          ("[python3, \"{seed}\"]", "search.run[1]: `{seed}`")):
            done = self.skyline("search", *CONFIG, "--set", f"search={{algorithm: program, run: {run}}}", "--run", "missing", expect=2)
            self.assertIn(said, done.stderr)
            self.assertFalse((self.folder / "missing").exists())
        done = self.skyline("search", *CONFIG, "--set", "search={algorithm: program}", "--run", "missing", expect=2)
        self.assertIn("search: missing key `run`", done.stderr)

    def test_known_results_are_told_before_the_first_question(self):
        self.skyline("search", *CONFIG, *FREE, "--set", "search={algorithm: random, trials: 30}", "--run", "earlier")
        self.skyline("search", *self.search(trials=12, more=", known: [earlier]"), "--run", "knows")
        best, later = ([json.loads(line)["metrics"]["validation_accuracy"] for line in self.canonical(run).splitlines()[1:]] for run in ("earlier", "knows"))
        self.assertGreaterEqual(max(later), 0.9 * max(best))

    def test_commands_that_train_nothing_need_no_answers(self):
        done = self.skyline("validate", *self.search("dead", trials=9))
        self.assertIn("# search: at most 9 trials", done.stdout)
        self.skyline("simulate", *self.search("dead", trials=9), "--slots", "2", "--search")


if __name__ == "__main__":
    unittest.main()
