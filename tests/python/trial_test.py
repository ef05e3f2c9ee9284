"""Trainers that use `skyline.trial`, started by Skyline and by hand."""

import json
import os
import signal
import subprocess
import sys
import unittest

from package_case import PROGRAM, SOURCE, TIMEOUT_S, PackageCase

import skyline
from skyline._decisions import Decisions

TRAINER = """
import json, sys
from skyline import trial

values = trial.defaults(lr=0.1, depth=2)
for epoch in trial.epochs(by_hand=2):
    trial.report(score=values["lr"] * epoch)
facts = [trial.name, trial.budget, trial.seed, trial.final, trial.rank, trial.world_size, str(trial.data), trial.folder.is_dir(), trial.cache.is_dir(),
         list(trial.folder.iterdir()), trial.by_hand, {name: [type(value).__name__, value] for name, value in trial.parameters.items()}]
print("facts " + json.dumps(facts))
trial.result(score=values["lr"], size=values["depth"])
"""
CONFIG = """
space: {{parameters: {parameters}}}
command: {{run: {run}, metrics: {{score: {{better: higher}}, size: {{better: lower}}}}, deterministic: true{more}}}
objectives: [maximize: score, minimize: size]
search: {search}
"""


class Trainer(PackageCase):
    def setUp(self):
        self.script = self.folder / f"{self.id().rsplit('.', 1)[-1]}.py"
        self.variables = {**os.environ, "PYTHONPATH": str(SOURCE / "python")}

    def search(self, text, ranks=0, expect=0, parameters="{lr: {choice: [0.5]}, depth: {choice: [3]}}", more="", start=False,
               resume=False, search="{algorithm: exhaustive}"):
        """A search over a script, by the program itself."""
        self.script.write_text(text)
        config, run = self.script.with_suffix(".yaml"), self.script.with_suffix("")
        command = json.dumps([sys.executable, str(self.script), "{parameters}"])
        epochs = "" if "epochs:" in more else ", epochs: 2.5"
        config.write_text(CONFIG.format(parameters=parameters, run=command, more=epochs + more, search=search))
        launcher = [os.environ.get("MPIEXEC", "mpirun"), "--oversubscribe", "-np", str(ranks)] if ranks else []
        words = [*launcher, PROGRAM, "search", config, "--run", run, "--quiet", *(["--resume"] if resume else [])]
        if start:
            return subprocess.Popen(words, env=self.variables, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        done = subprocess.run(words, capture_output=True, text=True, env=self.variables, timeout=TIMEOUT_S)
        self.assertEqual(done.returncode, expect, done.stderr)
        return skyline.open_run(run)

    def by_hand(self, text, *arguments, expect=0):
        self.script.write_text(text)
        done = subprocess.run([sys.executable, self.script, *arguments], capture_output=True, text=True, env=self.variables)
        self.assertEqual(done.returncode, expect, done.stderr)
        return done.stdout + done.stderr

    def facts(self, text):
        return json.loads(next(line for line in text.splitlines() if line.startswith("facts "))[len("facts "):])

    def test_a_script_runs_by_hand_with_defaults_and_arguments(self):
        for arguments, lr, depth in (([], 0.1, 2), (["lr=0.25", "depth=x"], 0.25, "x")):
            shown = self.by_hand(TRAINER.replace("size=values", "size=0 if arguments else values").replace("import json", f"arguments = {len(arguments)}\nimport json"),
                                 *arguments)
            self.assertTrue(shown.startswith(f"step 1: score={lr}\nstep 2: score={2 * lr}\n"), shown)
            self.assertEqual(self.facts(shown), ["", 1.0, 1, False, 0, 1, "None", True, True, [], True,
                                                 {"lr": ["float", lr], "depth": [type(depth).__name__, depth]}])
            self.assertIn(f"result: score={lr} size=", shown)
        shown = self.by_hand(TRAINER, "dept=5", "other=1")
        self.assertEqual(shown.splitlines()[-1], "dept=5: did you mean depth=5? depth is 2")
        self.assertNotIn("other=1:", shown)
        told = self.by_hand("from skyline import trial\ntrial.parameters['width']\n", expect=1)
        self.assertIn("width: has no value by hand: give width=VALUE as an argument, or trial.defaults(width=...)", told)

    def test_the_same_script_is_a_trainer_of_the_program(self):
        run = self.search(TRAINER)
        row = run.rows[0]
        self.assertEqual((row["score"], row["size"]), (0.5, 3.0))
        self.assertEqual(self.facts(run.log(0)), ["0", 2.5, row["seed"] & 0x7FFFFFFF, False, 0, 1, "None", True, True, [], False,
                                                  {"lr": ["float", 0.5], "depth": ["int", 3]}])
        points = [json.loads(line)["points"] for file in (run.path / "courses").iterdir() for line in file.read_text().splitlines()]
        self.assertEqual([point[0] for point in points[0]], [1, 2, 3])

    def test_what_is_no_finite_number_is_an_exception_where_it_is_reported(self):
        for value, said, shown in (("float('nan')", "ValueError: score: expected a finite number, got nan", "nan"),
                                   ("'much'", "TypeError: score: expected a number, got 'much'", "'much'")):
            self.assertIn(said, self.by_hand(f"from skyline import trial\ntrial.result(score={value})\n", expect=1))
            self.assertEqual(self.by_hand(f"from skyline import trial\ntrial.report(score={value})\n"), f"step 1: score={shown}\n")
        self.assertIn("a trial has one result", self.by_hand("from skyline import trial\ntrial.result(a=1)\ntrial.result(a=1)\n", expect=1))
        run = self.search("from skyline import trial\ntrial.result(score=float('inf'), size=1)\n", expect=3)
        self.assertEqual(run.rows[0]["reason"], "exit code 1: ValueError: score: expected a finite number, got inf")

    def test_what_decides_nothing_fails_no_trial(self):
        run = self.search("import math\nfrom skyline import trial\n"
                          "trial.report(0.5, score=1)\ntrial.report(-1, score=1)\ntrial.report('x', score=1)\n"
                          "for epoch in trial.epochs():\n    trial.report(score=math.nan if epoch == 1 else epoch, train_loss=1 / epoch)\n"
                          "    trial.report(note='warm', huge=10 ** 400, rate=math.inf if epoch == 2 else 0.1)\n"
                          "trial.report(lasting=1)\ntrial.report(2, lasting=0)\ntrial.report(lasting=2)\n"
                          "trial.result(score=2, size=1, host='here', spare=math.nan)\n")
        self.assertEqual([(row["status"], row["score"], row["size"]) for row in run.rows], [("ok", 2.0, 1.0)])
        [course] = [json.loads(line) for file in (run.path / "courses").iterdir() for line in file.read_text().splitlines()]
        points = [{"step": step, **{name: value for name, value in zip(course["names"], values) if value is not None and value != "nan"}}
                  for step, *values in course["points"]]
        self.assertEqual(points, [{"step": 1, "train_loss": 1, "rate": 0.1}, {"step": 2, "score": 2, "train_loss": 0.5},
                                  {"step": 3, "score": 3, "train_loss": 1 / 3, "rate": 0.1}, {"step": 4, "lasting": 1}, {"step": 5, "lasting": 2}])
        log = (run.path / "logs/skyline.log").read_text()
        for said in ("`step`: expected a whole number from 0, got 0.5", "`score`: expected a finite number, got NaN or an infinite one",
                     "`note`: expected a number, got the text `'warm'`", "the result has `host`, which is no declared metric (score, size)"):
            self.assertEqual(log.count(said), 1, log)
        self.assertEqual(log.count("; it is left out, like others of this kind"), 4, log)

    def test_a_trainer_without_its_parameters_says_what_to_add(self):
        self.variables["SKYLINE_REPORT_FD"] = "1"
        self.assertIn('add "{parameters}" to command.run', self.by_hand("from skyline import trial\ntrial.parameters\n", expect=1))

    def test_it_reports_by_its_descriptor_where_the_file_is_not_to_be_seen(self):
        self.variables.update(SKYLINE_REPORT_FD="1", SKYLINE_REPORT_FILE="/nowhere")
        self.assertEqual(self.by_hand("from skyline import trial\ntrial.report(3, a=1)\ntrial.result(a=2)\n"), '{"step": 3, "a": 1.0}\n{"result": {"a": 2.0}}\n')

    def test_process_0_of_several_reports_alone(self):
        text = ("from skyline import trial\nprint('facts', f'[{trial.rank}, {trial.world_size}]')\n"
                "trial.result(score=trial.rank, size=trial.world_size)\n")
        for framework in ("torch", "azure", "tensorflow"):
            self.script = self.folder / f"{framework}.py"
            run = self.search(text, ranks=2, more=f", processes: 2, framework: {framework}" + (", parameter_servers: 1" if framework == "tensorflow" else ""))
            self.assertEqual((run.rows[0]["score"], run.rows[0]["size"]), (0.0, 2.0))
            logs = {self.facts(file.read_text())[0] for file in (run.path / "logs/trials").iterdir()}
            self.assertEqual(logs, {0, 1})
            self.assertNotIn("only what process 0", (run.path / "logs/skyline.log").read_text())

    def test_a_trainer_goes_on_from_what_it_saved_in_its_folder(self):
        text = ("import sys, time\nfrom skyline import trial\nstate = trial.folder / 'epoch'\ntrial.should_stop()\n"
                "print('facts', [int(trial.resumed), int(trial.parent_folder is None), trial.horizon])\n"
                "for epoch in trial.epochs(by_hand=3, done=int(state.read_text()) if state.exists() else 0):\n"
                "    if trial.should_stop():\n        break\n"
                "    while epoch == 3 and not (trial.by_hand or trial.resumed or trial.should_stop()):\n        time.sleep(0.01)\n"
                "    state.write_text(str(epoch))\n    trial.report(score=epoch)\n"
                "trial.result(score=int(state.read_text()), size=1)\n")
        self.assertEqual(self.by_hand(text), "facts [0, 1, 1]\nstep 1: score=1\nstep 2: score=2\nstep 3: score=3\nresult: score=3 size=1\n")
        parameters = "{lr: {choice: [0.5]}}"
        job = self.search(text, parameters=parameters, more=", epochs: 12", start=True)
        saved = lambda: [file.read_text() for file in self.script.with_suffix("").glob("trials/0/*/epoch")]
        self.wait_until(lambda: saved() and saved()[0] >= "2", "nothing was saved")
        job.send_signal(signal.SIGUSR1)
        self.assertEqual(job.wait(TIMEOUT_S), 75)
        run = self.search(text, parameters=parameters, more=", epochs: 12", resume=True)
        self.assertEqual(self.facts(run.log(0)), [1, 1, 12.0])
        self.assertEqual(run.rows[0]["score"], 12)

    def test_a_child_has_the_folder_of_its_parent(self):
        text = ("from skyline import trial\nparent = trial.parent_folder\n"
                "score = 1 + (int((parent / 'score').read_text()) if parent else 0)\n(trial.folder / 'score').write_text(str(score))\n"
                "trial.result(score=score, size=1)\n")
        run = self.search(text, parameters="{lr: {range: [1, 90]}}", more=", inherit: true", search="{algorithm: evolution_pareto, iterations: 3, initial: 2}")
        self.assertGreater(max(row["score"] for row in run.rows), 2)

    def test_a_trainer_that_asks_learns_of_a_stop(self):
        text = ("import pathlib, sys, time\nfrom skyline import trial\ntrial.should_stop()\npathlib.Path(sys.argv[0] + '.began').touch()\n"
                "for epoch in trial.epochs():\n    while not trial.should_stop():\n        time.sleep(0.05)\n"
                "pathlib.Path(sys.argv[0] + '.heard').write_text(str(epoch))\n")
        job = self.search(text, start=True)
        self.wait_until(lambda: (self.folder / f"{self.script.name}.began").exists(), "no trial began")
        job.send_signal(signal.SIGUSR1)
        self.assertEqual(job.wait(TIMEOUT_S), 75)
        self.assertEqual((self.folder / f"{self.script.name}.heard").read_text(), "1")

    def test_no_answer_is_awaited_after_an_epoch_before_the_last_answered_one(self):
        file = self.folder / "decisions.jsonl"
        file.write_text('{"at":[1,3],"of":["score"]}\n{"step":3,"stop":false}\n')
        self.variables.update(SKYLINE_REPORT_FD="1", SKYLINE_REPORT_FILE="/nowhere", SKYLINE_DECISION_FILE=str(file))
        text = "from skyline import trial\ntrial.report(1, score=1)\nprint(trial.should_stop(), flush=True)\n"
        self.assertEqual(self.by_hand(text), '{"step": 1, "score": 1.0}\nFalse\n')

    def test_a_trial_that_is_far_behind_others_ends_when_it_asks(self):
        text = ("from skyline import trial\nlr = trial.parameters['lr'] if not trial.by_hand else 0.5\n"
                "for epoch in trial.epochs(by_hand=3):\n    trial.report(train_loss=1)\n    trial.report(score=lr * epoch)\n    trial.report(size=1)\n"
                "    if trial.should_stop():\n        print('facts', [epoch])\n        break\n"
                "trial.result(score=lr, size=1)\n")
        self.assertNotIn("facts", self.by_hand(text))
        run = self.search(text, parameters="{lr: {choice: [0.5, 0.6, 0.7, 0.1, 0.2, 0.8]}}", more=", epochs: 4",
                          search="{algorithm: exhaustive, pruning: {at: [2], keep: 0.5, least: 3}}\nrun: {window: 1}")
        self.assertEqual([(row["lr"], row["status"], row["score"]) for row in run.rows],
                         [(0.5, "ok", 0.5), (0.6, "ok", 0.6), (0.7, "ok", 0.7), (0.1, "pruned", 0.2), (0.2, "pruned", 0.4), (0.8, "ok", 0.8)])
        self.assertEqual((self.facts(run.log(3)), run.status["pruned"]), ([2], 2))
        self.assertEqual([row["lr"] for row in run.front_rows], [0.8])

    def test_a_trainer_that_asks_after_a_later_step_waits_for_the_decision_about_an_earlier_one(self):
        file = self.folder / "late.jsonl"
        text = ('{"at": [1, 3], "of": ["score"]}\n', '{"step": 1, "stop": true}\n')
        file.write_text(text[0])
        asked = []

        def is_interrupted():
            asked.append(True)
            if len(asked) == 3:
                file.write_text("".join(text))
            return False

        self.assertTrue(Decisions(str(file)).stop_after({1: {"score"}, 2: {"score", "other"}}, is_interrupted))
        self.assertEqual(len(asked), 3)
        file.write_text(text[0] + '{"step": 3, "stop": false}\n')
        self.assertFalse(Decisions(str(file)).stop_after({1: {"score"}, 3: {"score"}, 4: {"score"}}, lambda: False))


if __name__ == "__main__":
    unittest.main()
