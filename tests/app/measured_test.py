"""Metrics that programs of the user measure after the training: with trained networks, and with what a trainer has left."""

import json
import shutil
import signal
import sys
import unittest

from command_case import processes_with
from skyline_runs import SOURCE, TIMEOUT_S, RunsCase, read_json

MEASURE = SOURCE / "tests/app/command/measure.py"


class Measured(RunsCase):
    def setUp(self):
        self.marks = self.folder / "marks"
        shutil.rmtree(self.marks, ignore_errors=True)
        self.marks.mkdir()
        self.does()
        self.script = self.folder / f"{self.id().rsplit('.', 1)[-1]}.py"  # a name by which its processes are found
        shutil.copy(MEASURE, self.script)

    def does(self, **by_width):
        (self.marks / "does.json").write_text(json.dumps({name.strip("_"): what for name, what in by_width.items()}))

    def starts(self):
        return sorted(self.marks.glob("start.*"))

    def config(self, keys="", widths=(4, 6, 8), files=("{onnx}",), rest="", metrics="", objectives=""):
        """A search over widths, whose second objective is the size of what is exported."""
        run = json.dumps([sys.executable, str(self.script), str(self.marks), "size_kb", "{width}", *files])
        path = self.script.with_suffix(".yaml")
        path.write_text(f"""
data: {{file: {self.digits}, validation: 0.2}}
space:
  parameters: {{width: {{choice: {list(widths)}}}}}
  network: [{{conv2d: {{channels: $width, kernel: 3}}}}, relu, global_average_pool, {{linear: {{features: $classes}}}}]
training:
  epochs: 0.2
  metrics: [accuracy, {{size_kb: {{run: {run}, better: lower, range: [0, 1000], unit: KiB{keys}}}}}{metrics}]
objectives: [maximize: validation_accuracy, {objectives or 'minimize: size_kb'}]
search: {{algorithm: exhaustive}}
{rest}""")
        return path

    def results(self, run):
        """The trials of the search by width."""
        trials = read_json(self.folder / run / "models.json")["trials"]
        return {trial["parameters"]["width"]: trial for trial in trials if trial["phase"] == "search"}

    def sizes(self, run):
        return {width: trial["metrics"].get("size_kb") for width, trial in self.results(run).items()}

    def test_the_size_of_the_exported_file_is_an_objective_for_any_number_of_ranks(self):
        config = self.config(rest="run: {keep_weights: all}")
        for name, ranks in (("alone", 0), ("one", 1), ("two", 2), ("three", 3)):
            self.skyline("search", config, "--run", name, ranks=ranks)
            self.assertEqual(self.canonical(name), self.canonical("alone"), name)
        sizes = self.sizes("alone")
        for width, trial in self.results("alone").items():
            self.skyline("export", "alone", "--trial", trial["trial"])
            exported = (self.folder / f"alone/exports/{trial['trial']}.onnx").stat().st_size / 1024
            self.assertAlmostEqual(sizes[width], exported, delta=0.5)  # which says more about its run
        self.assertTrue(sizes[4] < sizes[6] < sizes[8])
        self.assertEqual(list((self.folder / "alone/trainer/attempts").iterdir()), [])

    def test_it_bounds_the_front_as_a_constraint(self):
        config = self.config(objectives="minimize: flops", rest="constraints: [size_kb: [0, 1.7]]")
        self.skyline("search", config, "--run", "bounded")
        sizes = {trial["parameters"]["width"]: trial["metrics"]["size_kb"] for trial in self.results("bounded").values()}
        kept = {member["parameters"]["width"] for member in read_json(self.folder / "bounded/pareto.json")["search_front"]}
        self.assertTrue(kept)
        self.assertTrue(kept < set(sizes), sizes)
        self.assertTrue(all(sizes[width] <= 1.7 for width in kept))

    def test_the_program_gets_the_network_in_each_format_and_the_trial(self):
        self.does(_4="keep")
        files = ["{onnx}", "{pytorch}", "{weights}", "{parameters}"]
        self.skyline("search", self.config(files=files, widths=[4]), "--run", "formats")
        self.assertIn(b"skyline_version", (self.marks / "model.onnx").read_bytes())
        self.assertIn("model.safetensors", (self.marks / "model.py").read_text())
        self.assertIn(b"conv2d_0.weight", (self.marks / "model.safetensors").read_bytes())
        trial = read_json(self.marks / "parameters.json")
        self.assertEqual((trial["parameters"], trial["trial"], trial["final"]), ({"width": 4}, "0", False))

    def test_the_median_of_repeats_counts_and_how_far_they_are_apart_is_in_the_curve(self):
        self.does(_4="vary", _6="vary")
        config = self.config(", at_once: 1, repeats: 3", widths=[4, 6])
        done = self.skyline("search", config, "--run", "repeats", "--slots", 2, ranks=2)
        self.assertRegex(done.stdout + done.stderr, r"trial \d: `size_kb`: 3 measurements from [46]\S* to [46]00\S*, median [46]0\S*: differences")
        self.assertEqual((done.stdout + done.stderr).count("may be noise"), 1)
        self.assertEqual(self.sizes("repeats"), {4: 40, 6: 60})
        lines = [line for file in (self.folder / "repeats/courses").iterdir() for line in file.read_text().splitlines()]
        last = [dict(zip(["step", *course["names"]], course["points"][-1])) for course in map(json.loads, lines)]
        self.assertEqual({(point["size_kb_min"], point["size_kb_max"]) for point in last}, {(4, 400), (6, 600)})
        self.assertTrue(all("train_loss" in point for point in last))  # it is the last point of the training
        self.does()
        self.skyline("search", self.config(", at_once: 1", widths=[4, 6]), "--run", "once")
        self.assertIn("at_once: 1\n        limits: {}\n", (self.folder / "once/config.yaml").read_text())  # the form that earlier runs have

    def test_at_most_so_many_measure_at_a_time_over_all_ranks(self):
        """Each of them fails if another one runs."""
        widths = range(2, 14)
        self.does(**{f"_{width}": "alone" for width in widths})
        self.skyline("search", self.config(", at_once: 1", widths=widths), "--run", "turns", "--slots", 2, ranks=2)
        self.assertEqual({trial["status"] for trial in self.results("turns").values()}, {"ok"})
        self.assertEqual(len(self.starts()), len(widths))

    def test_a_failed_measurement_is_a_failed_trial_with_its_reason(self):
        self.does(_2="exit", _3="hang", _4="nan", _5="nothing", _6="outside", _7="other", _8="signal")
        for limit_s in (8, 60):  # other measurements than the one that hangs may wait for a core
            for start in self.starts():
                start.unlink()
            run = f"failing{limit_s}"
            done = self.skyline("search", self.config(f", timeout: {limit_s} s", widths=range(2, 10)), "--run", run, ranks=2)
            found = {width: (trial["status"], trial.get("reason") or "") for width, trial in self.results(run).items()}
            if sum("took longer" in reason for _, reason in found.values()) == 1:
                break
        self.assertEqual(found, {
            2: ("program", "`size_kb`: exit code 1: the board is on fire"),
            3: ("program", f"`size_kb`: took longer than its timeout ({limit_s} s)"),
            4: ("program", "`size_kb`: line 1 of its report: `size_kb`: expected a finite number, got NaN or an infinite one"),
            5: ("program", "`size_kb`: it reported no result"),
            6: ("program", "`size_kb`: line 1 of its report: `size_kb`: expected a number from 0.0 to 1000.0, got -1.0"),
            7: ("program", "`size_kb`: line 1 of its report: the result has no `size_kb`, but `validation_accuracy`, which is no declared metric (size_kb)"),
            8: ("exception", "`size_kb`: signal SIGSEGV"),
            9: ("ok", "")})
        self.assertIn("| the board is on fire", done.stdout + done.stderr)
        self.assertEqual(len([path for path in self.starts()]), 9)  # a signal may have been somebody else's
        self.assertTrue((self.folder / run / "logs/trials/0.size_kb.failed.log").exists())

    def test_a_killed_job_measures_nothing_again_that_is_committed(self):
        self.does(_4="wait")
        config = self.config(widths=[4, 6, 8, 10], rest="run: {window: 1}")
        job = self.start("search", config, "--run", "killed", ranks=2)
        self.wait_until(self.starts, "nothing is measured")
        self.kill(job)
        self.wait_until(lambda: not processes_with(self.script.name), "the measurement outlives its job")
        self.skyline("search", config, "--run", "killed", "--resume", ranks=2)
        self.assertEqual(len(self.starts()), 5)
        self.skyline("search", config, "--run", "undisturbed")
        self.assertEqual(self.canonical("killed"), self.canonical("undisturbed"))

    def test_a_stop_ends_a_measurement_and_a_wait_for_a_turn(self):
        self.does(_4="wait", _6="wait")
        config = self.config(", at_once: 1", widths=[4, 6])
        job = self.start("search", config, "--run", "stopped", ranks=2)
        self.wait_until(self.starts, "nothing is measured")
        job.send_signal(signal.SIGUSR1)
        self.assertEqual(job.wait(TIMEOUT_S), 75)
        self.wait_until(lambda: not processes_with(self.script.name), "the measurement outlives its job")
        self.skyline("search", config, "--run", "stopped", "--resume", ranks=2)
        self.assertEqual(set(self.sizes("stopped")), {4, 6})

    def test_a_metric_of_full_trainings_is_measured_for_these_alone(self):
        config = self.config(", when: full", objectives="minimize: flops", rest="final: {epochs: 0.3}")
        self.skyline("search", config, "--run", "full", ranks=2)
        front = read_json(self.folder / "full/pareto.json")["search_front"]
        self.assertEqual(len(self.starts()), len(front))
        for member in front:
            self.assertGreater(member["final"]["size_kb"], 0.5)

    def test_a_metric_of_full_trainings_is_an_objective_of_the_final_front_alone(self):
        """The search keeps all networks, which are equal, and the final front the smallest."""
        config = self.config(", when: full", rest="final: {epochs: 0.3}", objectives="minimize: size_kb")
        config.write_text(config.read_text().replace("maximize: validation_accuracy", "minimize: steps"))  # equal ones
        done = self.skyline("search", config, "--run", "final", ranks=2)
        pareto = read_json(self.folder / "final/pareto.json")
        self.assertEqual({member["parameters"]["width"] for member in pareto["search_front"]}, {4, 6, 8})
        self.assertEqual([member["parameters"]["width"] for member in pareto["final_front"]], [4])
        self.assertEqual([each["metric"] for each in pareto["objectives"]], ["steps"])
        self.assertEqual([each["metric"] for each in pareto["final_objectives"]], ["steps", "size_kb"])
        self.assertGreater(pareto["final_front"][0]["objectives"]["size_kb"], 1)
        self.assertEqual(len(self.starts()), 3)
        self.assertIn("size_kb", done.stdout)
        self.skyline("report", "final")
        self.assertIn("final_size_kb", (self.folder / "final/search_state.csv").read_text())

    def test_one_member_of_a_group_measures_for_all(self):
        self.does(_6="exit")
        config = self.config()
        self.skyline("search", config, "--set", "training.group.members=2", "--run", "group", ranks=2)
        trials = self.results("group")
        self.assertEqual(len(self.starts()), 3)
        self.assertEqual(trials[6]["reason"], "`size_kb`: exit code 1: the board is on fire")
        self.skyline("search", config, "--run", "single")
        self.assertEqual([self.sizes("group")[width] for width in (4, 8)], [self.sizes("single")[width] for width in (4, 8)])

    def test_the_wait_of_a_group_for_its_turn_is_no_time_of_any_member(self):
        for times in (1, 5):  # the rest of a trial may wait for a core
            self.does(_4=f"sleep {14 * times}", _6=f"sleep {14 * times}")
            run = f"groups{times}"
            self.skyline("search", self.config(", at_once: 1", widths=[4, 6]), "--set", "training.group.members=2", "--set",
                         f"run.trial_timeout={25 * times} s", "--slots", "2", "--run", run, ranks=2)
            log = (self.folder / run / "logs/skyline.log").read_text()
            if "took longer" not in log:
                break
        self.assertEqual([trial["status"] for trial in self.results(run).values()], ["ok", "ok"])
        self.assertNotIn("took longer", log)

    def test_answers_and_latencies_of_the_training_are_kept(self):
        config = self.config(objectives="minimize: latency_ms", rest="final: {epochs: 1}")
        self.skyline("search", config, "--run", "kept")
        self.assertTrue((self.folder / "kept/latency.json").exists())
        self.assertTrue(list((self.folder / "kept/weights").glob("*.final.answers.json")))

    def test_a_trial_shows_what_it_measures(self):
        shown = self.skyline("validate", self.config(widths=[4]), "--try").stdout
        self.assertRegex(shown, r"measures size_kb: \S+python\S* .*model\.onnx")
        self.assertRegex(shown, r"result: .* size_kb=\d")

    def test_a_trainer_of_the_users_own_is_measured_in_its_folder(self):
        trainer = "import json, os, sys; open(sys.argv[2] + '/net', 'w').write('x' * 1024 * int(sys.argv[1])); " \
                  "os.write(int(os.environ['SKYLINE_REPORT_FD']), b'{\"result\": {\"score\": 1}}\\n')"
        run = json.dumps([sys.executable, "-c", trainer.replace("{", "{{"), "{width}", "{folder}"])
        measure = json.dumps([sys.executable, str(self.script), str(self.marks), "size_kb", "{width}", "{folder}/net"])
        self.does(_3="alone", _4="alone", _5="exit")
        config = self.script.with_suffix(".yaml")
        config.write_text(f"""
space: {{parameters: {{width: {{choice: [3, 4, 5]}}}}}}
command: {{run: {run}, metrics: {{size_kb: {{run: {measure}, better: lower, at_once: 1}}, score: {{better: higher}}}}}}
objectives: [minimize: size_kb]
search: {{algorithm: exhaustive}}
""")
        self.skyline("search", config, "--run", "own", ranks=2)
        trials = self.results("own")
        self.assertEqual([trials[3]["metrics"]["size_kb"], trials[4]["metrics"]["size_kb"]], [3, 4])
        self.assertEqual(trials[5]["reason"], "`size_kb`: exit code 1: the board is on fire")

    def test_limits_and_turns_may_change_when_a_run_resumes(self):
        self.skyline("search", self.config(widths=[4]), "--run", "changed")
        self.skyline("search", self.config(", at_once: 2, timeout: 7 s", widths=[4]), "--run", "changed", "--resume")
        told = self.skyline("search", self.config(", when: full", widths=[4], objectives="minimize: flops"), "--run", "changed",
                            "--resume", expect=2).stderr
        self.assertIn(f"differs between changed/config.yaml and {self.folder}/", told)

    def test_a_program_that_measures_and_was_edited_is_refused(self):
        config = self.config(widths=[4])
        self.skyline("search", config, "--run", "edited")
        self.script.write_text(self.script.read_text() + "\n")
        told = self.skyline("search", config, "--run", "edited", "--resume", expect=2).stderr
        self.assertIn(f"--resume edited: `{self.script}` has changed since its trials were trained", told)


if __name__ == "__main__":
    unittest.main()
