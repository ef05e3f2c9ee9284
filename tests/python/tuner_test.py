"""Searches whose trials a class of Python chooses."""

import contextlib
import unittest

from package_case import SETTINGS, SPACE, PackageCase

import functions
import skyline
import tuners


class Tuner(PackageCase):
    def search(self, algorithm, folder=None, **more):
        return skyline.search(SPACE, functions.product, algorithm=algorithm, folder=folder or self.name(), **{"trials": 12, **more}, **SETTINGS)

    def log(self, run):
        return (run.path / "logs/tuner.log").read_text()

    def test_a_class_chooses_the_trials_and_is_told_their_results(self):
        run = self.search(tuners.RandomTuner).wait()
        rows = run.rows
        self.assertEqual(len(rows), 12)
        told = self.log(run).splitlines()
        self.assertEqual(told[0], f"0 {{'lr': {rows[0]['lr']}, 'depth': {rows[0]['depth']}}} {{'score': {rows[0]['score']}, 'size': {rows[0]['size']}}}")
        self.assertEqual(len(told), 12)
        again = self.search(tuners.RandomTuner, f"{self.name()}.again", ranks=2).wait()
        self.assertEqual(self.canonical(again), self.canonical(run))

    def test_a_stopped_search_is_resumed_to_the_journal_of_one_that_was_not_stopped(self):
        for tuner, said in ((tuners.RandomTuner, ""), (tuners.Remembering, ""), (tuners.Careful, "accepted 1\n")):
            with self.subTest(tuner.__name__):
                name = f"{self.name()}.{tuner.__name__}"
                whole = self.search(tuner, f"{name}.whole").wait()
                run = self.held_search(trials=12, algorithm=tuner, folder=name)
                self.wait_until(lambda: len(run.rows) > 1, "no trial ended")
                run.stop()
                run.wait()
                self.go_on()
                run.resume().wait()
                self.assertEqual([row["arch_id"] for row in run.rows], [row["arch_id"] for row in whole.rows])
                self.assertTrue(self.log(run).startswith(said) and "answers otherwise" not in self.log(run))

    def test_one_that_draws_by_other_chance_goes_on_and_the_log_says_so_once(self):
        run = self.held_search(trials=12, algorithm=tuners.Forgetful, folder=self.name())
        self.wait_until(lambda: len(run.rows) > 1, "no trial ended")
        run.stop()
        run.wait()
        self.go_on()
        with contextlib.suppress(skyline.Error):  # it may propose what it has forgotten
            run.resume().wait()
        self.assertEqual(self.log(run).count("`ask` answers otherwise than in the job before, whose answer counts"), 1)

    def test_a_shorter_answer_ends_the_search(self):
        for number, algorithm in enumerate((tuners.Short, tuners.Short())):
            run = self.search(algorithm, f"{self.name()}.{number}").wait()
            self.assertEqual([row["depth"] for row in run.rows], [1, 2, 3])

    def test_an_algorithm_ends_when_the_space_is_used_up(self):
        for tuner in (tuners.RandomTuner, tuners.Remembering):
            with self.subTest(tuner.__name__):
                self.assertEqual(len(self.search(tuner, f"{self.name()}.{tuner.__name__}", trials=40).wait().rows), 12)

    def test_proposals_beside_conditions_and_bounds_are_passed_over(self):
        space = {"parameters": {"optimizer": ["adam", "sgd"], "momentum": {"choice": [0.5, 0.9], "when": "$optimizer == sgd"}, "depth": [1, 2, 3]},
                 "where": "$depth > 1 or $optimizer == adam"}
        run = skyline.search(space, functions.deep, trials=40, algorithm=tuners.RandomTuner, folder=self.name(), maximize="score", quiet=True,
                             metrics={"score": {"range": [0, 9]}, "area": {"is": "$depth * 10"}}, constraints=[{"area": [0, 20]}]).wait()
        self.assertEqual(sorted((row["optimizer"], row["depth"], row["momentum"]) for row in run.rows if row["momentum"]), [("sgd", 2, 0.5), ("sgd", 2, 0.9)])
        self.assertEqual(sorted(row["depth"] for row in run.rows if row["optimizer"] == "adam"), [1, 2])

    def test_a_class_learns_which_parameters_have_conditions_and_none_is_left_out(self):
        space = {"optimizer": ["adam", "sgd"], "momentum": {"choice": [0.5, 0.9], "when": "$optimizer == sgd"}}
        run = skyline.search(space, functions.with_momentum, trials=9, algorithm=tuners.Conditional, folder=self.name(), **SETTINGS).wait()
        self.assertEqual([(row["optimizer"], row["momentum"]) for row in run.rows], [("sgd", 0.9), ("sgd", 0.5), ("adam", None)])
        self.assertEqual(self.log(run).splitlines()[2], "{'optimizer': 'adam'}")

    def test_a_proposal_that_cannot_be_ends_the_search(self):
        bounded = {"metrics": {"area": {"is": "$lr * $depth"}}, "constraints": [{"area": [0, 0.1]}]}
        for tuner, more, said in ((tuners.Stubborn, {}, "was proposed before, as trial 0"), (tuners.Remembering, bounded, "area")):
            with self.subTest(said), self.assertRaisesRegex(skyline.Error, said) as refused:
                skyline.search(SPACE, functions.product, maximize="score", algorithm=tuner, folder=f"{self.name()}.{tuner.__name__}", quiet=True, **more).wait()
            self.assertEqual(refused.exception.exit_code, 2)

    def test_an_algorithm_is_a_name_or_a_program_too(self):
        self.assertEqual(len(self.search("random", f"{self.name()}.name").wait().rows), 12)
        program = ["python3", "-c", "import os, socket, sys; socket.socket(fileno=int(os.environ['SKYLINE_TUNER_FD'])).sendall(b'x\\n')"]
        with self.assertRaisesRegex(skyline.Error, "the tuner was asked nothing, and sent `x`|its answer: expected an object of JSON"):
            self.search(program, f"{self.name()}.program").wait()

    def test_what_another_python_cannot_make_is_refused(self):
        class Local(tuners.RandomTuner):
            pass

        for algorithm, said in ((Local, "^algorithm: `.*Local` is defined within another function"),
                                (tuners.With("no name"), "^algorithm: is an object of the class `With` that no module has by name"),
                                (3, "^algorithm: expected a name, a class or an object with `ask` and `tell`"), (functions.Trainer, "^algorithm: expected")):
            with self.subTest(said), self.assertRaisesRegex(skyline.Error, said):
                self.search(algorithm)
        self.assertEqual(list(self.folder.glob(f"{self.name()}*")), [])
        with self.assertRaisesRegex(skyline.Error, "there is no front"):
            self.search(tuners.named).wait()

    def test_a_class_of_the_script_that_searches(self):
        said = self.run_script("import skyline, random\nclass Mine:\n    def __init__(self, space): self.space = space\n"
                               "    def ask(self, n, seed): return {name: random.Random(seed).choice(values) for name, values in self.space.items()}\n"
                               "    def tell(self, trial): pass\n"
                               "def train(x): return x\n"
                               "if __name__ == '__main__':\n"
                               "    print(len(skyline.search({'x': range(1, 1000)}, train, maximize='y', algorithm=Mine, trials=3, quiet=True).wait().rows))\n")
        self.assertEqual(said.strip().splitlines()[-1], "3")


if __name__ == "__main__":
    unittest.main()
