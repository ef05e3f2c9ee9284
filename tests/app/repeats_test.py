"""Full trainings that are repeated: means in every result, a kill in their middle, more of them at a resume."""

import csv
import statistics
import unittest

import h5py

from skyline_runs import SOURCE, RunsCase, read_json, small_digits

# With a window, since the lines of a generation come together near its end.
CONFIG = [SOURCE / "configs/synthetic.yaml", "--set", "synthetic.seconds_per_gflop=0.1", "--set",
          "synthetic.failure_rate=0.1", "--set", "search.iterations=2", "--set", "final.epochs=6", "--set", "final.repeats=3",
          "--set", "run.window=4"]


def tensors_of(path):
    """The bytes of the trained values in a file of weights, by the names of their layers."""
    with h5py.File(path) as file:
        found = {}
        file["tensors"].visititems(lambda name, item: found.update({name: item[:].tobytes()} if hasattr(item, "dtype") else {}))
    return found


class Repeats(RunsCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls().skyline("search", *CONFIG, "--run", "whole")

    def full_trainings(self, run):
        return [trial for trial in read_json(self.folder / run / "models.json")["trials"] if trial["phase"] == "final"]

    def test_runs_killed_between_repeats_go_on_with_another_number_of_ranks(self):
        whole = self.canonical("whole")
        trainings = self.full_trainings("whole")
        searched = whole.count("\n") - 1 - len(trainings)
        for number, (first, second) in enumerate(((2, 1), (1, 3), (3, 2))):
            run = f"killed{number}"
            self.kill_after(searched + 1, "search", *CONFIG, "--run", run, ranks=first, at="fsync")
            self.assertGreater(self.canonical(run).count("\n") - 1, searched)
            self.skyline("search", *CONFIG, "--run", run, "--resume", ranks=second)
            self.assertEqual(self.canonical(run), whole)

    def test_a_finished_run_gets_more_repeats_and_is_then_as_if_it_had_had_them_from_the_start(self):
        self.skyline("search", *CONFIG, "--set", "final.repeats=1", "--run", "more")
        once = self.canonical("more")
        self.assertNotIn("final_repeat", once)
        self.assertNotIn("repeats", read_json(self.folder / "more/pareto.json")["final_front"][0])
        told = self.skyline("search", "--run", "more", "--resume", "--quiet").stdout
        self.assertIn("Full trainings were not repeated, so no deviation is known", told)
        told = self.skyline("search", *CONFIG, "--run", "more", "--resume", "--quiet").stdout
        self.assertIn("Full trainings: means of 3 repeats", told)
        self.assertEqual(self.canonical("more"), self.canonical("whole"))
        self.assertTrue(self.canonical("more").startswith(once))

    def test_all_results_have_the_means_by_which_the_front_is_compared(self):
        front = read_json(self.folder / "whole/pareto.json")["final_front"]
        with open(self.folder / "whole/search_state.csv") as file:
            rows = {row["trial"]: row for row in csv.DictReader(file)}
        trainings = self.full_trainings("whole")
        self.assertGreater(len(front), 1)
        for member in front:
            repeats = [each for each in trainings if each["trial"] == member["trial"]]
            self.assertEqual([each.get("final_repeat", 0) for each in repeats], [0, 1, 2])
            values = [each["metrics"]["validation_accuracy"] for each in repeats if each["status"] == "ok"]
            told = member["repeats"]["metrics"]["validation_accuracy"]
            self.assertEqual((member["repeats"]["count"], told["count"]), (3, len(values)))
            self.assertAlmostEqual(told["mean"], statistics.mean(values), 12)
            self.assertEqual(member["objectives"]["validation_accuracy"], told["mean"])
            row = rows[str(member["trial"])]
            self.assertEqual((row["is_final_pareto"], row["final_repeats"]), ("True", "3"))
            self.assertAlmostEqual(float(row["final_validation_accuracy"]), told["mean"], 12)
            if len(values) > 1:
                self.assertAlmostEqual(told["deviation"], statistics.stdev(values), 12)
                self.assertAlmostEqual(float(row["final_validation_accuracy_deviation"]), told["deviation"], 12)
        means = [(member["objectives"]["validation_accuracy"], -member["objectives"]["flops"]) for member in front]
        for one in means:
            self.assertFalse([other for other in means if other != one and other[0] >= one[0] and other[1] >= one[1]])

    def test_rivals_of_a_small_front_are_trained_too_on_any_ranks(self):
        for ranks in (0, 2):
            self.skyline("search", *CONFIG, "--set", "objectives=[{maximize: validation_accuracy}]", "--set", "final.members=4", "--set",
                         "synthetic.failure_rate=0", "--run", f"rivals{ranks}", ranks=ranks)
        self.assertEqual(self.canonical("rivals0"), self.canonical("rivals2"))
        searched = [trial for trial in read_json(self.folder / "rivals0/models.json")["trials"] if trial["phase"] == "search"]
        searched.sort(key=lambda trial: (-trial["metrics"]["validation_accuracy"], trial["trial"]))
        trained = [trial["trial"] for trial in self.full_trainings("rivals0")]
        self.assertEqual(sorted(trained), sorted(3 * [trial["trial"] for trial in searched[:4]]))

    def test_rivals_keep_their_models_since_repeats_may_bring_them_to_the_final_front(self):
        self.skyline("search", *small_digits(self.digits), "--set", "objectives=[{maximize: validation_accuracy}]", "--set", "final.members=3",
                     "--set", "final.repeats=2", "--run", "kept")
        trained = {f"{each['trial']}.final.h5" for each in self.full_trainings("kept")}
        self.assertEqual(len(trained), 3)
        self.assertEqual({path.name for path in (self.folder / "kept/weights").iterdir() if path.name.endswith(".final.h5")}, trained)

    def test_the_first_training_alone_leaves_its_model_and_is_that_of_a_run_without_repeats(self):
        for run, repeats in (("once", 1), ("thrice", 3)):
            told = self.skyline("search", *small_digits(self.digits), "--set", f"final.repeats={repeats}", "--run", run).stdout
        once = self.full_trainings("once")
        firsts = [each for each in self.full_trainings("thrice") if "final_repeat" not in each]
        self.assertEqual([(each["trial"], each["seed"], each["metrics"]) for each in firsts],
                         [(each["trial"], each["seed"], each["metrics"]) for each in once])
        names = {path.name for path in (self.folder / "thrice/weights").iterdir() if path.name.endswith(".final.h5")}
        self.assertEqual(names, {f"{each['trial']}.final.h5" for each in once})
        for each in once:
            name = f"weights/{each['trial']}.final.h5"
            self.assertEqual(*(tensors_of(self.folder / run / name) for run in ("once", "thrice")))

        yardsticks = read_json(self.folder / "once/pareto.json")["yardsticks"]
        with h5py.File(self.digits) as file:
            targets, tested = file["train/targets"][:], file["test/targets"][:]
        validation = yardsticks["validation_accuracy"]
        self.assertEqual(yardsticks["test_accuracy"]["samples"], len(tested))
        self.assertIn(f"validation_accuracy of {validation['samples']} samples: trial ", told)
        shares = [(tested == label).mean() for label in range(10)]
        self.assertTrue(any(abs(yardsticks["test_accuracy"]["constant"] - share) < 1e-9 for share in shares))
        checked = self.skyline("validate", *small_digits(self.digits)).stdout
        self.assertRegex(checked, f"# data: always `[0-9]` gives validation_accuracy {validation['constant']:.4f}, test_accuracy ")
        self.assertLess(validation["samples"], len(targets))

    def test_train_repeats_by_seeds_alone(self):
        self.skyline("train", "whole", "--front", "--epochs", 1, "--run", "further")
        self.assertNotIn("final_repeat", self.canonical("further"))
        refused = self.skyline("search", "--run", "further", "--resume", "--set", "final.repeats=2", expect=2).stderr
        self.assertIn("final.repeats: `search.seeds` repeats the trainings of listed architectures: expected 1", refused)


if __name__ == "__main__":
    unittest.main()
