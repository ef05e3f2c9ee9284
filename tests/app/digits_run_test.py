"""The digits search, real training, for several numbers of ranks: same journal, complete results."""

import csv
import json
import re
import subprocess
import unittest

import event_files
from skyline_runs import RunsCase, read_json, small_digits

READ_TABLE = """
import h5py, pandas, sys
table = pandas.DataFrame(h5py.File(sys.argv[1])["trials"][:])
print(len(table), "validation_accuracy" in table.columns, "flops" in table.columns, "depth" in table.columns)
"""
READ_ACCOUNT = """
import h5py, json, pandas, sys
tables = [pandas.DataFrame(h5py.File(sys.argv[1])[name][:]) for name in ("slots", "trials")]
print(json.dumps([table.select_dtypes("number").to_dict("records") for table in tables]))
"""
PARTS_OF_TRIALS = ["setup_s", "train_s", "validate_s", "latency_s", "wait_files_s", "wait_ranks_s"]


class DigitsRun(RunsCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.done = {}
        for name, ranks in (("alone", 0), ("one", 1), ("two", 2), ("three", 3)):
            cls.done[name] = cls().skyline("search", *small_digits(cls.digits), "--run", name, ranks=ranks)

    def test_the_journals_of_any_number_of_ranks_are_the_same_bytes(self):
        alone = self.canonical("alone")
        self.assertGreater(alone.count("\n"), 8)
        for name in ("one", "two", "three"):
            self.assertEqual(self.canonical(name), alone, name)

    def test_a_coordinator_only_run_has_the_same_journal(self):
        self.skyline("search", *small_digits(self.digits), "--run", "coordinator", "--coordinator-only", ranks=2)
        self.assertEqual(self.canonical("coordinator"), self.canonical("alone"))

    def test_two_slots_a_rank_have_the_same_journal(self):
        self.skyline("search", *small_digits(self.digits), "--run", "slots", "--slots", 2)
        self.assertEqual(self.canonical("slots"), self.canonical("alone"))

    def test_the_results_are_complete(self):
        run = self.folder / "two"
        front = read_json(run / "pareto.json")["search_front"]
        self.assertTrue(front)
        for member in front:
            self.assertGreater(member["final"]["test_accuracy"], 0.05)
            self.assertIn("flops", member["objectives"])
            self.assertEqual(member["weights"], f"weights/{member['trial']}.h5")
            self.assertEqual(member["final"]["weights"], f"weights/{member['trial']}.final.h5")
        weights = {f"weights/{path.name}" for path in (run / "weights").iterdir()}
        trained = {member["final"]["weights"] for member in front}
        kept = {member["weights"] for member in front} | trained | {name.replace(".h5", ".answers.json") for name in trained}
        self.assertEqual(weights, kept, "only the front's weights are kept")
        trials = read_json(run / "models.json")["trials"]
        with open(run / "search_state.csv", newline="") as file:
            rows = list(csv.DictReader(file))
        self.assertEqual(len(rows), sum(trial["phase"] == "search" for trial in trials))
        self.assertEqual(len(trials), self.canonical("two").count("\n") - 1)
        self.assertTrue((run / "logs/skyline.log").read_text().count("committed") >= len(trials))

    def test_the_final_front_compares_full_trainings_with_one_another_alone(self):
        pareto = read_json(self.folder / "two/pareto.json")
        trained = {member["trial"]: (-member["final"]["validation_accuracy"], member["costs"]["flops"])
                   for member in pareto["search_front"]}
        best = {trial for trial, values in trained.items() if not any(
            other != values and other[0] <= values[0] and other[1] <= values[1] for other in trained.values())}
        self.assertEqual({member["trial"] for member in pareto["final_front"]}, best)
        self.assertEqual({member["trial"] for member in pareto["search_front"] if member["final"]["on_front"]}, best)
        self.assertEqual({member["phase"] for member in pareto["final_front"]}, {"final"})
        self.assertGreater(pareto["hypervolume"]["final"], 0)

    def test_run_h5_is_a_table_for_pandas(self):
        done = subprocess.run(["/usr/bin/python3", "-c", READ_TABLE, self.folder / "two/run.h5"], capture_output=True,
                              text=True, timeout=600)
        self.assertEqual(done.returncode, 0, done.stderr)
        trials = self.canonical("two").count("\n") - 1
        self.assertEqual(done.stdout.split(), [str(trials), "True", "True", "True"])

    def test_the_parts_of_the_slots_times_add_up_to_the_wall_time(self):
        done = self.skyline("search", *small_digits(self.digits), "--run", "account", "--slots", 2, ranks=2)
        wall_s = float(re.search(r"latency in 4 slots over ([0-9.]+) s", done.stdout).group(1))
        table = subprocess.run(["/usr/bin/python3", "-c", READ_ACCOUNT, self.folder / "account/run.h5"], check=True,
                               capture_output=True, text=True, timeout=600)
        slots, trials = json.loads(table.stdout)
        self.assertEqual(len(slots), 4)
        for slot in slots:
            place = slot["rank"], slot["slot"]
            own = sorted((trial for trial in trials if (trial["rank"], trial["slot"]) == place), key=lambda trial: trial["started_s"])
            end_s = 0
            for trial in own:  # one after the other
                self.assertGreaterEqual(trial["started_s"], end_s - 0.002, place)
                end_s = trial["started_s"] + sum(trial[part] for part in PARTS_OF_TRIALS)
            self.assertLessEqual(end_s, wall_s * 1.01 + 0.05)  # it is printed to a tenth
            for part in PARTS_OF_TRIALS[:-2]:  # a slot also waits for files, or others' trials, after its own
                self.assertAlmostEqual(slot[part], sum(trial[part] for trial in own), delta=0.01 * wall_s, msg=f"{place} {part}")
            self.assertEqual(slot["trials"], len(own))
        sums_s = [sum(slot[part] for part in [*PARTS_OF_TRIALS, "wait_work_s", "wait_device_s"]) for slot in slots]
        self.assertLess(max(sums_s), 1.01 * min(sums_s))
        self.assertAlmostEqual(sum(sums_s) / 4, wall_s, delta=0.01 * wall_s + 0.05)  # wall time as printed, to a tenth

    def test_the_trace_shows_every_trial_on_its_slot(self):
        out = self.skyline("trace", "two").stdout
        self.assertIn("wrote two/trace.json", out)
        events = read_json(self.folder / "two/trace.json")["traceEvents"]
        trials = sorted(event["name"] for event in events if event["name"].startswith("trial "))
        lines = [json.loads(line) for line in (self.folder / "two/journal.jsonl").read_text().splitlines()[1:]]
        self.assertEqual(trials, sorted(f"trial {line['k']}{'.final' * (line['phase'] == 'final')}" for line in lines))
        self.assertEqual({event["pid"] for event in events}, {line["where"]["rank"] for line in lines})
        self.skyline("trace", "two", "-o", "two/config.yaml", expect=2)

    def test_tensorboard_has_the_curve_the_results_and_the_parameters_of_each_trial(self):
        self.assertIn("wrote shown/two, ", self.skyline("tensorboard", "two", "-o", "shown/two").stdout)
        folder = self.folder / "shown/two"
        self.assertEqual([path.name for path in folder.parent.iterdir()], ["two"])
        trials = read_json(self.folder / "two/models.json")["trials"]
        self.assertEqual(len(list(folder.iterdir())), len(trials))
        for trial in trials:
            is_final = trial["phase"] == "final"
            own = folder / f"{trial['trial']}{'.final' * is_final}"
            self.assertEqual(event_files.parameters(own), trial["parameters"])
            *curve, (_, _, results) = event_files.scalars(own)
            self.assertTrue(any("curve/train_loss" in values for _, _, values in curve))
            self.assertEqual([step for step, _, _ in curve], sorted(step for step, _, _ in curve))
            group = "final" if is_final else "trial"
            self.assertAlmostEqual(results[f"{group}/validation_accuracy"], trial["metrics"]["validation_accuracy"], 6)
            self.assertAlmostEqual(results[f"{group}/flops"] / trial["costs"]["flops"], 1, 6)
        self.assertIn("shown/two: is not empty", self.skyline("tensorboard", "two", "-o", "shown/two", expect=2).stderr)
        (self.folder / "there").mkdir()
        self.skyline("tensorboard", "two", "-o", "there/")
        self.assertEqual(len(list((self.folder / "there").iterdir())), len(trials))

    def test_the_end_is_printed(self):
        output = self.done["two"].stdout
        for text in ("The final front", "0.5 epochs", "1 epoch", "test_accuracy", "hypervolume", "Account of time", "utilization", "skyline: done:"):
            self.assertIn(text, output)

    def test_status_tells_that_the_run_has_ended(self):
        self.assertIn("finished", self.skyline("status", "two").stdout)

    def test_a_second_search_in_the_folder_needs_resume(self):
        before = (self.folder / "two/journal.jsonl").read_bytes()
        done = self.skyline("search", *small_digits(self.digits), "--run", "two", ranks=2, expect=2)
        self.assertIn("two holds a run already: add --resume", done.stderr)
        self.assertEqual((self.folder / "two/journal.jsonl").read_bytes(), before)

    def test_resuming_a_finished_run_changes_nothing(self):
        before = (self.folder / "one/journal.jsonl").read_bytes()
        self.skyline("search", *small_digits(self.digits), "--run", "one", "--resume", ranks=2)
        self.assertEqual((self.folder / "one/journal.jsonl").read_bytes(), before)

    def test_validate_prints_what_a_run_would_use(self):
        arguments = small_digits(self.digits)
        self.assertTrue(all(line.startswith("# ") for line in self.skyline("validate", *arguments).stdout.splitlines()))
        output = self.skyline("validate", *arguments, "--resolved").stdout
        for text in ("is valid", "genotypes", "sha256", "learning_rate", "max_unseen: 4"):
            self.assertIn(text, output)


if __name__ == "__main__":
    unittest.main()
