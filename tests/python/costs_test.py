"""Searches whose costs a function counts before a trial: `skyline.search(..., costs=count)`."""

import json
import sys
import unittest

from package_case import SETTINGS, SOURCE, SPACE, PackageCase

import counts
import functions
import skyline

MODELS = {"layers": list(range(1, 13)), "width": list(range(2, 32))}
BOUND = {"constraints": [{"size": [0, 2000]}]}


class Costs(PackageCase):
    def search(self, costs=counts.size, folder=None, **more):
        return skyline.search(MODELS, counts.train, costs=costs, maximize="score", folder=folder or self.name(), quiet=True,
                              **{"trials": 16, "command": {"deterministic": True}, **BOUND, **more})

    def refusal(self, costs, code, **more):
        with self.assertRaises(skyline.Error) as refused:
            self.search(costs, **more).wait()
        self.assertEqual(refused.exception.exit_code, code, refused.exception)
        return str(refused.exception)

    def test_no_trial_outside_of_a_bound_is_trained(self):
        for name in ("skyline", "random", "nsga2"):
            with self.subTest(name):
                run = self.search(folder=f"{self.name()}.{name}", algorithm=name).wait()
                self.assertEqual(len(run.rows), 16)
                for row in run.rows:
                    self.assertEqual(row["size"], row["layers"] * row["width"] ** 2)
                    self.assertLessEqual(row["size"], 2000)
                    self.assertEqual(row["status"], "ok")

    def test_journals_are_equal_for_any_ranks_and_have_the_costs(self):
        one, *others = [self.canonical(self.search(minimize="size", folder=f"{self.name()}.{ranks}", ranks=ranks).wait()) for ranks in (1, 2, 3)]
        self.assertEqual(others, [one, one])
        for line in map(json.loads, one.splitlines()[1:]):
            self.assertEqual(line["costs"], {"size": line["genotype"]["layers"] * line["genotype"]["width"] ** 2})
            self.assertEqual(list(line["metrics"]), ["score"])

    def test_a_resume_asks_for_nothing_again(self):
        settings = {"trials": 8, "costs": counts.load, "constraints": [{"load": [0, 30]}]}
        for name in ("skyline", "random"):
            with self.subTest(name):
                whole = skyline.search(SPACE, functions.product, folder=f"{self.name()}.{name}.whole", algorithm=name, **settings, **SETTINGS).wait()
                run = self.held_search(folder=f"{self.name()}.{name}", algorithm=name, **settings)
                self.wait_until(lambda: len(run.rows) > 1, "no trial ended")
                run.stop()
                run.wait()
                self.go_on()
                run.resume().wait()
                self.assertEqual([row["arch_id"] for row in run.rows], [row["arch_id"] for row in whole.rows])
                asked = (run.path / "logs/costs.log").read_text().splitlines()
                self.assertEqual(len(asked), len(set(asked)), asked)

    def test_where_all_objectives_are_counted_nothing_is_trained(self):
        run = skyline.search(MODELS, costs=counts.size, maximize="size", trials=8, folder=self.name(), quiet=True, **BOUND).wait()
        self.assertTrue(all(row["size"] <= 2000 for row in run.rows))
        self.assertGreater(max(row["size"] for row in run.rows), 1000)

    def test_what_cannot_be_counted_ends_the_search_before_a_training(self):
        for costs, said in ((counts.raising, r"costs\.run: the answer of the program: layers=\d+ width=\d+: ValueError: is too deep"),
                            (counts.not_a_number, r"layers=\d+ width=\d+: ValueError: size is nan: expected a finite number"),
                            (counts.misspelt, r"layers=\d+ width=\d+: costs\.metrics has no `sise`, did you mean `size`\?")):
            with self.subTest(costs.__name__):
                folder = f"{self.name()}.{costs.__name__}"
                self.assertRegex(self.refusal(costs, 2, folder=folder), said)
                self.assertEqual(skyline.open_run(folder).rows, [])

    def test_a_function_that_hangs_ends_the_job(self):
        section = {"run": ["env", f"PYTHONPATH={SOURCE}/python", sys.executable, "-m", "skyline.run_costs", f"{counts.__file__}:hanging"], "timeout": "1 s", "metrics": {"size": {}}}
        self.assertRegex(self.refusal(section, 76), r"costs\.run: the program has not answered for 1 s \(costs\.timeout\)")

    def test_no_architecture_within_the_bounds_ends_the_search_with_exit_code_3(self):
        self.assertIn("there is no front: no trial is done: no architecture meets the constraints on counted costs",
                      self.refusal(counts.size, 3, constraints=[{"size": [0, 3]}]))

    def test_what_cannot_be_is_refused_with_its_argument(self):
        for costs, said in ((3, "costs: expected a function of the parameters, got 3"),
                            (lambda layers, width: {"size": 1}, "costs: is a lambda"),
                            (counts.load, r"costs: load\(layers=1, width=2\): TypeError: ")):
            with self.subTest(said), self.assertRaisesRegex(skyline.Error, said):
                self.search(costs)
        with self.assertRaisesRegex(skyline.Error, "^train: has no metric to return: each objective is a cost that is known before a trial"):
            skyline.search(MODELS, counts.train, costs=counts.size, maximize="size", folder=self.name(), quiet=True)


if __name__ == "__main__":
    unittest.main()
