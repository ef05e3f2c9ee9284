"""Programs that are asked before a training: bounds on what they say, and what a resume asks again."""

import json
import signal
import unittest

from skyline_runs import TIMEOUT_S, RunsCase, read_json

ASKED = """#!/bin/sh
echo "$1" >> "$MARKS/asked"
echo "{\\"result\\": {\\"board_ms\\": $(($2 * $3))}}" > "$SKYLINE_REPORT_FILE"
"""
TRAINER = """#!/bin/sh
echo "$1" >> "$MARKS/trained"
while [ "$1" = "$(cat "$MARKS/held" 2> /dev/null)" ]; do sleep 0.02; done
echo "{\\"result\\": {\\"score\\": $(($2 * 7 + $3 % 5))}}" > "$SKYLINE_REPORT_FILE"
"""
CONFIG = """
space: {{parameters: {{layers: {{range: [1, 6]}}, width: {{choice: [4, 7, 9, 16, 21, 32, 50]}}}}}}
command:
  run: [sh, train.sh, "{{trial}}", "{{layers}}", "{{width}}"]
  deterministic: true
  env: {{MARKS: {marks}}}
  metrics:
    score: {{better: higher, range: [0, 100]}}
    board_ms: {{run: [sh, asked.sh, "{{trial}}", "{{layers}}", "{{width}}"], better: lower, when: before, exact: true}}
objectives: [maximize: score]
constraints: [board_ms: [0, 40]]
search: {{algorithm: random, trials: 9}}
run: {{window: 2}}
"""


class Before(RunsCase):
    def setUp(self):
        self.marks = self.folder / self.id().rsplit(".", 1)[-1]
        self.marks.mkdir()
        self.config = self.marks.with_suffix(".yaml")
        self.config.write_text(CONFIG.format(marks=self.marks))
        (self.folder / "asked.sh").write_text(ASKED)
        (self.folder / "train.sh").write_text(TRAINER)

    def noted(self, name):
        """The trials that a program noted, in no order."""
        return sorted((self.marks / name).read_text().split(), key=int)

    def trials(self, run):
        return read_json(self.folder / run / "models.json")["trials"]

    def check(self, trials, inside):
        """What is outside was not trained, and has no place among the trials."""
        self.assertEqual(len([trial for trial in trials if trial["status"] == "ok"]), inside)
        outside = [trial for trial in trials if trial["status"] != "ok"]
        self.assertTrue(outside)
        for trial in outside:
            board_ms = trial["parameters"]["layers"] * trial["parameters"]["width"]
            self.assertGreater(board_ms, 40)
            self.assertEqual((trial["status"], trial["reason"]),
                             ("outside", f"`board_ms` is {board_ms}, and its constraint [0, 40]"))
            self.assertEqual(trial["metrics"], {"board_ms": board_ms})
        return outside

    def test_what_is_outside_of_a_bound_is_not_trained_and_costs_no_trial(self):
        done = self.skyline("search", self.config, "--run", "inside")
        trials = self.trials("inside")
        outside = self.check(trials, 9)
        self.assertEqual(self.noted("asked"), [str(number) for number in range(len(trials))], "each once")
        self.assertEqual(self.noted("trained"), [str(trial["trial"]) for trial in trials if trial["status"] == "ok"])
        self.assertIn(f"{9 + len(outside)} trials done, {len(outside)} of them outside of constraints", done.stderr + done.stdout)
        for trial in trials:
            if trial["status"] == "ok":
                self.assertEqual(trial["metrics"]["board_ms"], trial["parameters"]["layers"] * trial["parameters"]["width"])

    def test_every_algorithm_has_one_journal_for_any_ranks(self):
        for name, search in (("model", "{trials: 9}"), ("random", "{algorithm: random, trials: 9}"),
                             ("nsga2", "{algorithm: nsga2, trials: 9, population: 4}"), ("repeats", "{algorithm: mo_bananas, trials: 9, repeats: 2}"),
                             ("bananas", "{algorithm: mo_bananas, trials: 9}")):
            for ranks in (0, 2, 3):
                self.skyline("search", self.config, "--set", f"search={search}", "--run", f"{name}{ranks}", ranks=ranks)
                self.assertEqual(self.canonical(f"{name}{ranks}"), self.canonical(f"{name}0"))
            self.check(self.trials(f"{name}0"), 9)

    def test_the_processes_of_a_trial_wait_for_the_answer(self):
        (self.folder / "train.sh").write_text('[ "$RANK" = 0 ] || exit 0\n' + TRAINER)
        for ranks in (0, 2):
            self.skyline("search", self.config, "--set", "command.processes=2", "--set", "search.trials=4", "--run",
                         f"grouped{ranks}", "--slots", 2, ranks=ranks)
            self.check(self.trials(f"grouped{ranks}"), 4)
        self.assertEqual(self.canonical("grouped0"), self.canonical("grouped2"))

    def test_a_resume_asks_for_no_trial_again(self):
        self.skyline("search", self.config, "--run", "whole")
        first = next(trial["trial"] for trial in self.trials("whole") if trial["status"] == "ok" and trial["trial"] > 1)
        for note in self.marks.iterdir():
            note.unlink()
        (self.marks / "held").write_text(str(first))
        job = self.start("search", self.config, "--run", "killed", ranks=2)
        trained = self.marks / "trained"
        self.wait_until(lambda: trained.exists() and str(first) in trained.read_text().split(), f"trial {first} was not trained")
        self.kill(job)
        (self.marks / "held").unlink()
        self.skyline("search", self.config, "--run", "killed", "--resume", ranks=3)
        self.assertEqual(self.canonical("killed"), self.canonical("whole"))
        self.assertEqual(self.noted("trained").count(str(first)), 2)
        self.assertEqual(self.noted("asked").count(str(first)), 1)

    def test_a_search_that_finds_nothing_else_gives_up(self):
        done = self.skyline("search", self.config, "--set", "constraints=[board_ms: [0, 1]]", "--set", "search={trials: 6}",
                            "--set", "run.most_failures=20", "--run", "none", expect=3)
        self.assertIn("search ended: 24 trials broke a constraint on what is asked before a training", done.stderr + done.stdout)
        self.assertIn("done: 24 trials (0 failed, 24 outside), ", done.stdout)
        self.assertRegex(done.stderr, "there is no front: no trial was trained, because each broke a constraint before, the "
                                      r"first one: `board_ms` is \d+, and its constraint \[0, 1\]")
        self.assertEqual([trial["status"] for trial in self.trials("none")], ["outside"] * 24)
        self.assertFalse((self.marks / "trained").exists())

    def test_trials_outside_are_told_apart_from_failed_ones(self):
        (self.folder / "train.sh").write_text("exit 3\n")
        options = ["--set", "search.trials=20", "--set", "run.most_failures=5", "--set", "run.window=1"]
        done = self.skyline("search", self.config, *options, "--run", "apart", expect=3)
        states = [trial["status"] for trial in self.trials("apart")]
        outside = states.count("outside")
        self.assertGreater(outside, 0)
        self.assertEqual(states.count("program"), 5)
        self.assertIn(f"search ended: the first 5 trials all failed, beside {outside} outside of constraints (run.most_failures)", done.stdout)
        self.assertIn(f"done: {5 + outside} trials (5 failed, {outside} outside), ", done.stdout)
        self.assertIn("; trials failed most often as program (5 of 5): ", done.stdout)
        self.assertIn("there is no front: every trial that was trained failed, most often as program (5 of 5): ", done.stderr)
        status = read_json(self.folder / "apart/status.json")
        self.assertEqual((status["failed"], status["outside"]), (5, outside))
        self.assertIn(f" · 5 failed · {outside} outside · {5 + outside} in the journal", self.skyline("status", "apart").stdout)

    def test_a_run_with_more_lines_than_trials_resumes_and_is_extended(self):
        self.skyline("search", self.config, "--run", "extended")
        count = len(self.trials("extended"))
        self.assertGreater(count, 9)
        status = read_json(self.folder / "extended/status.json")
        self.assertEqual((status["done"], status["expected"]), (count, count), "the bound grows with each trial outside")
        before = self.canonical("extended")
        self.skyline("search", self.config, "--run", "extended", "--resume")
        self.assertEqual(self.canonical("extended"), before)
        self.skyline("search", "--run", "extended", "--resume", "--set", "search.trials=12")
        self.check(self.trials("extended"), 12)
        self.skyline("search", self.config, "--run", "longer", "--set", "search.trials=12")
        self.assertEqual(self.canonical("extended").splitlines()[1:], self.canonical("longer").splitlines()[1:])
        done = self.skyline("search", "--run", "extended", "--resume", "--set", "search.trials=11", expect=2)
        self.assertIn("the journal holds 12 trials of the search, this configuration asks for at most 11", done.stderr)

    def test_a_run_is_killed_after_more_lines_than_trials(self):
        self.skyline("search", self.config, "--run", "long")
        last = [trial["trial"] for trial in self.trials("long") if trial["status"] == "ok"][-1]
        self.assertGreater(last, 9)
        (self.marks / "trained").unlink()
        (self.marks / "held").write_text(str(last))
        job = self.start("search", self.config, "--run", "cut")
        trained = self.marks / "trained"
        self.wait_until(lambda: trained.exists() and str(last) in trained.read_text().split(), f"trial {last} was not trained")
        self.wait_until(lambda: (self.folder / "cut/journal.jsonl").read_text().count("\n") > 10, "the journal is short")
        self.kill(job)
        (self.marks / "held").unlink()
        self.skyline("search", "--run", "cut", "--resume", ranks=2)
        self.assertEqual(self.canonical("cut"), self.canonical("long"))

    def test_algorithms_that_give_them_a_place_count_them(self):
        for name, search in (("all", "{algorithm: exhaustive}"),
                             ("pareto", "{algorithm: evolution_pareto, initial: 6, iterations: 3, max_unseen: 6}")):
            self.skyline("search", self.config, "--set", f"search={search}", "--run", name)
            before = self.canonical(name)
            self.assertIn("outside", [trial["status"] for trial in self.trials(name)])
            self.skyline("search", "--run", name, "--resume")
            self.assertEqual(self.canonical(name), before)
        done = self.skyline("search", "--run", "pareto", "--resume", "--set", "search.iterations=1", expect=2)
        self.assertRegex(done.stderr, "skyline: .*(a run can be extended, not shortened|this configuration asks for)")
        self.assertEqual(self.canonical("pareto"), before)

    def test_full_trainings_take_the_answers_of_the_search_and_are_never_refused(self):
        final = ["--set", "final={epochs: 2, repeats: 2}", "--set", "command.epochs=1"]
        self.skyline("search", self.config, *final, "--run", "final")
        trials = [trial for trial in self.trials("final") if trial["phase"] == "search"]
        self.assertEqual(self.noted("asked"), [str(trial["trial"]) for trial in trials], "each once, and no full training")
        front = {trial["trial"] for trial in self.trials("final") if trial["phase"] == "final"}
        self.assertEqual({int(path.name.partition(".")[0]) for path in (self.folder / "final/checkpoints").glob("*.steps.json")}, front, "others are removed")
        (self.marks / "asked").unlink()
        self.skyline("search", self.config, "--set", "final={epochs: 2, members: 5}", "--set", "command.epochs=1", "--run", "rivals")
        phases = [trial["phase"] for trial in self.trials("rivals")]
        asked = (self.marks / "asked").read_text().split()
        self.assertEqual((phases.count("final"), len(asked)), (5, phases.count("search")), "rivals are not asked again")

    def test_a_full_training_that_is_asked_anew_is_never_refused(self):
        self.config.write_text(self.config.read_text().replace('"{layers}", "{width}"], better', '"{layers}", "{width}", "{epochs}"], better')
                               .replace("exact: true", "exact: false"))
        (self.folder / "asked.sh").write_text(ASKED.replace("$2 * $3", "$2 * $3 * ($4 * 9 - 8)"))
        self.skyline("search", self.config, "--set", "final={epochs: 5}", "--set", "command.epochs=1", "--run", "anew", expect=3)
        full = [trial for trial in self.trials("anew") if trial["phase"] == "final"]
        self.assertTrue(full)
        for trial in full:
            board_ms = 37 * trial["parameters"]["layers"] * trial["parameters"]["width"]
            self.assertEqual((trial["status"], trial["metrics"]["board_ms"]), ("ok", board_ms))
            self.assertGreater(board_ms, 40)

    def test_a_program_that_fails_fails_the_trial_and_one_that_may_answer_otherwise_makes_no_deterministic_run(self):
        (self.folder / "asked.sh").write_text("exit 3\n")
        self.skyline("search", self.config, "--set", "search={algorithm: random, trials: 2}", "--run", "failed", "--set",
                     "command.metrics.board_ms.exact=false", expect=3)
        self.assertEqual([trial["status"] for trial in self.trials("failed")], ["program"] * 2)
        header = json.loads(self.canonical("failed").splitlines()[0])
        self.assertFalse(header["deterministic"])
        self.assertFalse((self.marks / "trained").exists())

    def test_a_job_that_is_stopped_while_a_program_is_asked_resumes(self):
        (self.folder / "asked.sh").write_text("while [ ! -e $MARKS/go ]; do sleep 0.02; done\n" + ASKED)
        job = self.start("search", self.config, "--run", "stopped")
        self.wait_until(lambda: (self.folder / "stopped/journal.jsonl").exists(), "no journal")
        job.send_signal(signal.SIGUSR1)
        self.assertEqual(job.wait(timeout=TIMEOUT_S), 75)
        (self.marks / "go").touch()
        self.skyline("search", self.config, "--run", "stopped", "--resume")
        self.check(self.trials("stopped"), 9)

    def test_a_training_of_ours_is_bounded_too(self):
        (self.folder / "board.sh").write_text("echo \"{\\\"result\\\": {\\\"board_ms\\\": $1}}\" > \"$SKYLINE_REPORT_FILE\"\n")
        (self.folder / "ours.yaml").write_text(f"""
data: {{file: {self.digits}}}
space: {{parameters: {{width: {{choice: [4, 8, 12, 16]}}}}, network: [flatten, linear: {{features: $width}}, relu, linear: {{features: $classes}}]}}
training:
  epochs: 0.2
  metrics: [accuracy, board_ms: {{run: [sh, board.sh, "{{width}}"], better: lower, when: before, exact: true}}]
objectives: [maximize: validation_accuracy]
constraints: [board_ms: [0, 10]]
search: {{algorithm: exhaustive}}
""")
        for ranks in (0, 2):
            self.skyline("search", "ours.yaml", "--run", f"ours{ranks}", ranks=ranks)
        self.assertEqual(self.canonical("ours0"), self.canonical("ours2"))
        self.assertEqual([trial["status"] for trial in self.trials("ours0")], ["ok", "ok", "outside", "outside"])
        self.assertEqual(self.trials("ours0")[1]["metrics"]["board_ms"], 8)


if __name__ == "__main__":
    unittest.main()
