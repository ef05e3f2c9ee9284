"""Searches that end bad trials within their training: by programs, functions and `training`, for any ranks, and after kills."""

import json
import sys
import unittest

from skyline_runs import SOURCE, RunsCase, read_json, small_digits

sys.path.append(str(SOURCE / "tests/support"))
import pruned_trainer  # noqa: E402

TRAINER = SOURCE / "tests/support/pruned_trainer.py"
EPOCHS, AT, WINDOW = 6, [1, 3], 6
FUNCTION = """
from skyline import trial
import pruned_trainer

def train(a, b):
    for epoch in trial.epochs():
        trial.report(score=pruned_trainer.value_of(dict(a=a, b=b), epoch))
        trial.report(size=b)
        if trial.should_stop():
            break
    return dict(score=pruned_trainer.value_of(dict(a=a, b=b), {epochs}), size=b)
"""


def dominates(left, right):
    return all(x <= y for x, y in zip(left, right)) and left != right


class Pruning(RunsCase):
    def config(self, search="algorithm: random, trials: 40", options=(), run=f"window: {WINDOW}", command="", rest=""):
        """A search over the trainer with two objectives."""
        path = self.folder / f"{self.id().rsplit('.', 1)[-1]}.yaml"
        program = f"run: {json.dumps([sys.executable, str(TRAINER), '{parameters}', *options])}"
        path.write_text(f"space: {{parameters: {{a: {{range: [1, 9]}}, b: {{range: [1, 40]}}}}}}\n"
                        f"command: {{{command or program}, metrics: {{score: {{better: higher}}, size: {{better: lower}}}}, "
                        f"epochs: {EPOCHS}, deterministic: true}}\n"
                        f"objectives: [maximize: score, minimize: size]\n"
                        f"search: {{{search}, pruning: {{at: {AT}, keep: 0.5, least: 6}}}}\nrun: {{{run}}}\n{rest}")
        return path

    def trials(self, run):
        return [json.loads(line) for line in self.canonical(run).splitlines()[1:]]

    def states(self, run):
        return [trial["status"] for trial in self.trials(run)]

    def bar_of(self, known, step):
        """The bar after a step by the definition: the first front with which half of the known values are in it or before."""
        points = [pruned_point(trial, step) for trial in known if any(one["step"] == step for one in trial["steps"])]
        rest, count = points, 0
        while len(points) >= 6:
            front = [point for point in rest if not any(dominates(other, point) for other in rest)]
            count += len(front)
            if 2 * count >= len(points):
                return front
            rest = [point for point in rest if point not in front]
        return []

    def check_decisions(self, trials):
        """Each trial was pruned exactly where the definition says, by what was told when it was proposed."""
        pruned = 0
        for number, trial in enumerate(trials):
            self.assertEqual(trial["k"], number)
            known = trials[:max(0, number - WINDOW + 1)]
            wanted = next((step for step in AT if any(dominates(point, curve_point(trial, step)) for point in self.bar_of(known, step))), None)
            reached = [step for step in AT if wanted is None or step <= wanted]
            self.assertEqual([one["step"] for one in trial["steps"]], reached, trial)
            self.assertEqual(trial["status"], "ok" if wanted is None else "pruned", trial)
            value = pruned_trainer.value_of(trial["genotype"], wanted or EPOCHS)
            self.assertEqual(trial["metrics"], {"score": value, "size": trial["genotype"]["b"]})
            pruned += wanted is not None
        self.assertGreater(pruned, 5)
        self.assertLess(pruned, 35)

    def test_a_trial_ends_where_known_ones_dominate_it_for_any_ranks_and_slots(self):
        config = self.config()
        for ranks, slots in ((1, 1), (1, 4), (2, 1), (3, 2)):
            run = f"random{ranks}{slots}"
            said = self.skyline("search", config, "--run", run, "--slots", str(slots), ranks=ranks).stdout
            self.assertEqual(self.canonical(run), self.canonical("random11"))
        self.check_decisions(self.trials("random11"))
        self.assertIn('"pruning":true', self.canonical("random11").splitlines()[0])
        self.assertEqual(list((self.folder / "random11/checkpoints").glob("*.steps.json")), [])
        front = read_json(self.folder / "random11/pareto.json")["search_front"]
        trials = self.trials("random11")
        self.assertEqual({trials[member["trial"]]["status"] for member in front}, {"ok"})
        pruned = self.states("random11").count("pruned")
        trained = sum(trial["steps"][-1]["step"] for trial in trials if trial["status"] == "pruned")
        self.assertIn(f"done: 40 trials (0 failed, {pruned} pruned after {trained} of {pruned * EPOCHS} epochs), ", said)
        self.assertEqual(read_json(self.folder / "random11/status.json")["pruned"], pruned)
        self.assertEqual([trial["status"] for trial in read_json(self.folder / "random11/models.json")["trials"]], self.states("random11"))
        self.assertIn(f" · {pruned} pruned · 40 in the journal", self.skyline("status", "random11").stdout)

    def test_other_algorithms_and_commits_by_virtual_time_are_the_same_for_any_ranks(self):
        for name, search, run in (("model", "trials: 24", "window: 4"), ("nsga2", "algorithm: nsga2, trials: 40, population: 8", "window: 8"),
                                  ("virtual", "algorithm: random, trials: 40", "window: 2x, virtual_slots: 3, commit: virtual_time")):
            config = self.config(search, run=run)
            for ranks in (1, 3):
                self.skyline("search", config, "--run", f"{name}{ranks}", ranks=ranks)
            self.assertEqual(self.canonical(f"{name}3"), self.canonical(f"{name}1"))
            self.assertIn("pruned", self.states(f"{name}1"), name)

    def test_a_run_that_is_killed_within_a_step_goes_on_to_the_same_journal(self):
        self.skyline("search", self.config(), "--run", "whole")
        trials = self.trials("whole")
        pruned = next(trial["k"] for trial in trials if trial["status"] == "pruned" and len(trial["steps"]) == 2)
        whole = next(trial["k"] for trial in trials if trial["status"] == "ok" and trial["k"] > pruned)
        for number, (trial, epoch, place) in enumerate(((pruned, 3, "reported"), (pruned, 1, "decided"), (pruned, 2, "saved"),
                                                        (whole, 3, "reported"), (whole, 3, "saved"), (whole, 5, "saved"))):
            gate = self.folder / f"gate{number}"
            config = self.config(options=[f"hold={trial}.{epoch}.{place}", f"gate={gate}"])
            job = self.start("search", config, "--run", f"killed{number}", ranks=1 + number % 3)
            self.wait_until(gate.with_suffix(".held").exists, f"trial {trial} does not hold")
            self.kill(job)
            gate.touch()
            self.skyline("search", config, "--run", f"killed{number}", "--resume", ranks=1 + (number + 1) % 3)
            self.assertEqual(self.trials(f"killed{number}"), trials, (trial, epoch, place))

    def test_one_that_asks_late_ends_as_if_it_had_asked_in_time(self):
        self.skyline("search", self.config(options=["asks=5"]), "--run", "late", ranks=2)
        self.check_decisions(self.trials("late"))

    def test_one_that_never_asks_runs_on_and_is_not_pruned(self):
        late = self.config(options=["asks=never", "last=unreported"])
        late.write_text(late.read_text().replace(f"at: {AT}", f"at: [1, {EPOCHS - 1}]"))
        late = late.rename(late.with_stem("unreported"))  # no epoch is reported after the last one that is compared
        for name, config, at in (("never", self.config(options=["asks=never"]), AT), ("unreported", late, [1, EPOCHS - 1])):
            self.skyline("search", config, "--run", name, ranks=2)
            trials = self.trials(name)
            self.assertEqual({trial["status"] for trial in trials}, {"ok"})
            self.assertEqual({tuple(one["step"] for one in trial["steps"]) for trial in trials}, {tuple(at)})
            self.assertEqual([trial["metrics"]["score"] for trial in trials],
                             [pruned_trainer.value_of(trial["genotype"], EPOCHS) for trial in trials])

    def test_one_that_is_told_to_end_may_report_a_result_which_counts(self):
        for ranks in (1, 2):
            self.skyline("search", self.config(options=["ends=result"]), "--run", f"result{ranks}", ranks=ranks)
        trials = self.trials("result1")
        self.assertEqual(self.canonical("result2"), self.canonical("result1"))
        self.assertEqual({trial["status"] for trial in trials}, {"ok"})
        ended = [trial for trial in trials if trial["metrics"] == {"score": 0, "size": 0}]
        self.assertIn(1, [len(trial["steps"]) for trial in ended])
        self.assertLess(len(ended), len(trials))

    def test_a_function_asks_by_should_stop(self):
        (self.folder / "functions.py").write_text(FUNCTION.format(epochs=EPOCHS))
        for start in ("auto", "fresh"):
            command = f"python: '{self.folder}/functions.py:train', interpreter: {sys.executable}, start: {start}"
            config = self.config("algorithm: random, trials: 24", command=command.replace(", start: auto", ""))
            self.skyline("search", config, "--run", start, ranks=2,
                         environment={"PYTHONPATH": f"{SOURCE / 'python'}:{SOURCE / 'tests/support'}"})
        self.assertEqual(self.trials("auto"), self.trials("fresh"))
        self.assertIn("pruned", self.states("auto"))
        self.skyline("search", self.config("algorithm: random, trials: 24"), "--run", "program")
        self.assertEqual(self.trials("auto"), self.trials("program"))

    def test_full_trainings_are_of_whole_trials_and_never_pruned(self):
        config = self.config(rest=f"final: {{epochs: {2 * EPOCHS}}}\n")
        self.skyline("search", config, "--run", "final", ranks=2)
        trials = self.trials("final")
        whole = {trial["k"] for trial in trials if trial["phase"] == "search" and trial["status"] == "ok"}
        full = [trial for trial in trials if trial["phase"] == "final"]
        self.assertLessEqual({trial["k"] for trial in full}, whole)
        self.assertEqual({(trial["status"], "steps" in trial) for trial in full}, {("ok", False)})

    def test_a_step_that_is_not_reported_is_told_once(self):
        config = self.config("algorithm: random, trials: 8", options=["asks=never"])
        config.write_text(config.read_text().replace(f"at: {AT}", "at: [2, 5]").replace(str(TRAINER), str(self.folder / "seldom.py")))
        (self.folder / "seldom.py").write_text(TRAINER.read_text().replace('        report({"step"', '        if epoch % 2: report({"step"'))
        said = self.skyline("search", config, "--run", "seldom").stderr
        self.assertEqual(said.count("it reported no step 2 (`search.pruning.at`), so it is not compared there"), 1, said)
        self.assertNotIn('"step":2', self.canonical("seldom"))

    def test_a_metric_that_a_step_lacks_is_named_once(self):
        config = self.config("algorithm: random, trials: 8", options=["asks=never"])
        config.write_text(config.read_text().replace(str(TRAINER), str(self.folder / "partly.py")))
        (self.folder / "partly.py").write_text(TRAINER.read_text().replace('"size": parameters["b"]})', '})', 1))
        said = self.skyline("search", config, "--run", "partly").stderr
        self.assertEqual(said.count("step 1 has no `size` (`search.pruning.at`), so it is not compared there"), 1, said)

    def test_training_ends_by_itself_for_any_ranks_and_after_a_kill(self):
        config = [*small_digits(self.digits), "--set", "training.epochs=4", "--set", "search.pruning={at: [1, 2], keep: 0.3, least: 3}",
                  "--set", "run.window=3", "--set", "objectives=[maximize: validation_accuracy]"]
        for ranks in (1, 2):
            self.skyline("search", *config, "--run", f"digits{ranks}", ranks=ranks)
        self.assertEqual(self.canonical("digits2"), self.canonical("digits1"))
        states = self.states("digits1")
        self.assertIn("pruned", states)
        self.kill_after(4, "search", *config, "--run", "digits_killed", ranks=2)
        self.skyline("search", *config, "--run", "digits_killed", "--resume", ranks=1)
        self.assertEqual(self.canonical("digits_killed"), self.canonical("digits1"))
        done = self.skyline("export", "digits1", "--trial", str(states.index("pruned")), "--out", "m.onnx", expect=2)
        self.assertIn("was pruned (`search.pruning`) and left no weights", done.stderr)

    def test_objectives_that_only_whole_trials_have_are_named(self):
        config = self.config("algorithm: random, trials: 4")
        said = "search.pruning: trials are compared without size, which only whole trials have"
        self.assertNotIn("search.pruning: trials", self.skyline("validate", config).stdout)
        (self.folder / "size.sh").write_text('echo "{\\"result\\": {\\"size\\": 7}}" > "$SKYLINE_REPORT_FILE"\n')
        program = f"size: {{run: [sh, '{self.folder}/size.sh'], better: lower}}"
        config.write_text(config.read_text().replace("size: {better: lower}", program))
        self.assertEqual(self.skyline("validate", config).stdout.count(f"# {said}\n"), 1)
        self.assertEqual(self.skyline("search", config, "--run", "named").stderr.count(said), 1)

    def test_what_is_asked_before_is_compared_as_if_each_step_had_it(self):
        (self.folder / "before.sh").write_text('echo "{\\"result\\": {\\"size\\": $1}}" > "$SKYLINE_REPORT_FILE"\n')
        config = self.config()
        self.skyline("search", config, "--run", "reported")
        program = f"size: {{run: [sh, '{self.folder}/before.sh', '{{b}}'], better: lower, when: before}}"
        config.write_text(config.read_text().replace("size: {better: lower}", program).replace(f'"{TRAINER}"', f'"{self.folder}/alone.py"'))
        (self.folder / "alone.py").write_text(TRAINER.read_text().replace(', "size": parameters["b"]})', '})'))
        for ranks in (1, 2):
            self.skyline("search", config, "--run", f"asked{ranks}", ranks=ranks)
            self.assertEqual(self.trials(f"asked{ranks}"), self.trials("reported"))

    def test_what_makes_no_sense_is_refused_in_one_line(self):
        for change, said in ((("--set", "run.window=generation"), "search.pruning: needs `run.window`, a number of trials, e.g. 8"),
                             (("--set", "search.pruning.at=[1, 6]"), "search.pruning.at: expected epochs before the last of a trial, 6, got 6"),
                             (("--set", "search.pruning.keep=0"), "search.pruning.keep: expected a number above 0 and below 1, got 0")):
            self.assertIn(said, self.skyline("search", self.config(), *change, "--run", "refused", expect=2).stderr)
        self.assertIn("search.pruning: a simulation has no learning curves: leave the key out",
                      self.skyline("simulate", self.config(), "--slots", 4, expect=2).stderr)
        done = self.skyline("search", SOURCE / "configs/nasbench201_table.yaml", "--set", "search.pruning.at=[3]", "--set", "run.window=8",
                            "--run", "refused", expect=2)
        self.assertIn("search.pruning: the evaluator `table` measures no objective during a training: nothing can be compared", done.stderr)


def curve_point(trial, step):
    return [-pruned_trainer.value_of(trial["genotype"], step), trial["genotype"]["b"]]


def pruned_point(trial, step):
    [metrics] = [one["metrics"] for one in trial["steps"] if one["step"] == step]
    return [-metrics["score"], metrics["size"]]


if __name__ == "__main__":
    unittest.main()
