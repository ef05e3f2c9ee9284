"""The search as a library: `skyline.Sampler`."""

import json
import math
import subprocess
import sys
import types
import unittest
import unittest.mock

from package_case import METRICS, PROGRAM, SETTINGS, SPACE, PackageCase

import functions
import skyline

OBJECTIVES = [{"maximize": "score"}, {"minimize": "size"}]
WITH_CONDITION = {"optimizer": ["adam", "sgd"], "momentum": {"choice": [0, 0.9], "when": "$optimizer == sgd"}}


class Sampler(PackageCase):
    def sampler(self, space=SPACE, objectives=OBJECTIVES, **more):
        sampler = skyline.Sampler(space, objectives, **more)
        self.addCleanup(sampler.close)
        return sampler

    def test_it_proposes_what_a_search_with_a_window_of_one_does(self):
        space = {"lr": skyline.range(1e-4, 0.4, log=True), "depth": range(1, 9)}
        for options in ({}, {"constraints": [{"score": [0.05, 2]}]}, {"search": {"algorithm": "nsga2", "population": 4}}, {"seed": 7}):
            with self.subTest(options):
                more = {name: value for name, value in options.items() if name != "seed"}
                run = {"window": 1, **({"seed": options["seed"]} if "seed" in options else {})}
                searched = skyline.search(space, functions.product, trials=16, folder=f"{self.name()}.{len(str(options))}", run=run, **more, **SETTINGS).wait()
                sampler = self.sampler(space, metrics=METRICS, **options)
                chosen = []
                for _ in range(16):
                    (number, parameters), = sampler.ask()
                    chosen.append(parameters)
                    sampler.tell(number, functions.product(**parameters))
                self.assertEqual(chosen, [{name: row[name] for name in space} for row in searched.rows])

    def test_several_trials_are_asked_for_at_once_and_told_in_any_order(self):
        sampler = self.sampler()
        trials = sampler.ask(5)
        self.assertEqual([trial.number for trial in trials], [0, 1, 2, 3, 4])
        self.assertEqual(len({str(trial.parameters) for trial in trials}), 5)
        for number, parameters in reversed(trials):
            sampler.tell(number, functions.product(**parameters) if number != 2 else None)
        rest = sampler.ask(50)
        self.assertEqual(len(rest), 12 - 5)
        self.assertEqual(sampler.ask(), [])
        self.assertTrue(sampler.done)

    def test_a_trial_lacks_the_parameters_that_it_does_not_use(self):
        sampler = self.sampler(WITH_CONDITION)
        sampler.tell({"optimizer": "adam"}, {"score": 0.5, "size": 1})
        trials = sampler.ask(5)
        self.assertEqual([parameters for _, parameters in sorted(trials, key=lambda trial: trial.parameters["momentum"])],
                         [{"optimizer": "sgd", "momentum": 0}, {"optimizer": "sgd", "momentum": 0.9}])
        with self.assertRaisesRegex(skyline.Error, "^tell: lacks the parameter `optimizer`$"):
            sampler.tell({"momentum": 0.9}, {"score": 1, "size": 1})

    def test_told_parameters_that_lack_a_used_one_or_break_a_condition_are_refused_and_it_goes_on(self):
        sampler = self.sampler({"parameters": {**WITH_CONDITION, "rate": [0.1, 0.2]}, "where": "$rate < 0.2 or $optimizer == sgd"}, OBJECTIVES[:1])
        for _ in range(2):
            with self.assertRaisesRegex(skyline.Error, "^tell: lacks the parameter `momentum`$"):
                sampler.tell({"optimizer": "sgd", "rate": 0.1}, {"score": 1})
            with self.assertRaisesRegex(skyline.Error, "^tell: .*where.*"):
                sampler.tell({"optimizer": "adam", "rate": 0.2}, {"score": 1})
            sampler.tell({"optimizer": "sgd", "momentum": 0.9, "rate": 0.1}, {"score": 1})
        self.assertEqual(len(sampler.ask(9)), 4)
        sampler.close()
        with self.assertRaisesRegex(skyline.Error, "^the sampler is closed"):
            sampler.tell({"optimizer": "adam", "rate": 0.1}, {"score": 1})

    def test_none_of_a_parameter_with_a_condition_is_one_that_is_left_out(self):
        sampler = self.sampler(WITH_CONDITION, OBJECTIVES[:1])
        sampler.tell({"optimizer": "adam", "momentum": None}, {"score": 1})
        with self.assertRaisesRegex(skyline.Error, "^tell: lacks the parameter `momentum`$"):
            sampler.tell({"optimizer": "sgd", "momentum": None}, {"score": 1})
        with self.assertRaisesRegex(skyline.Error, "^tell: `optimizer`: expected one of its 2 values, adam, sgd, got `null`$"):
            sampler.tell({"optimizer": None}, {"score": 1})
        self.assertEqual(len(sampler.ask(9)), 2)
        sampler = self.sampler({**WITH_CONDITION, "momentum": {"choice": [None, 0.9], "when": "$optimizer == sgd"}}, OBJECTIVES[:1])
        sampler.tell({"optimizer": "sgd", "momentum": None}, {"score": 1})
        self.assertEqual(len(sampler.ask(9)), 2)

    def test_a_trial_of_optuna_that_lacks_a_used_parameter_is_skipped(self):
        kinds = {name: type(name, (), {"__init__": lambda self, *_, **__: None})
                 for name in ("BaseDistribution", "CategoricalDistribution", "FloatDistribution", "IntDistribution")}
        states = types.SimpleNamespace(COMPLETE=1, PRUNED=2, FAIL=3)
        stand_in = types.SimpleNamespace(samplers=types.SimpleNamespace(BaseSampler=object, RandomSampler=lambda seed: None))
        told = [types.SimpleNamespace(number=number, state=states.COMPLETE, values=[1.0], params=params) for number, params in
                enumerate(({"optimizer": "sgd"}, {"optimizer": "adam"}, {"optimizer": "sgd", "momentum": 0.9}))]
        study = types.SimpleNamespace(study_name="study", directions=[types.SimpleNamespace(name="MAXIMIZE")], get_trials=lambda **_: told)
        with unittest.mock.patch.dict(sys.modules, {"optuna": stand_in, "optuna.distributions": types.SimpleNamespace(**kinds),
                                                    "optuna.trial": types.SimpleNamespace(FrozenTrial=object, TrialState=states)}):
            self.addCleanup(sys.modules.pop, "skyline._optuna", None)
            sampler = skyline.optuna_sampler(WITH_CONDITION)
        trial = types.SimpleNamespace(number=3, system_attrs={})
        self.assertEqual(sampler.sample_relative(study, trial, {}), {"optimizer": "sgd", "momentum": 0})
        sampler._sampler.close()

    def test_a_height_and_a_width_are_a_list(self):
        kernels = [3, [10, 4], [3, 1]]
        sampler = self.sampler({"kernel": kernels, "depth": [1, 2]})
        sampler.tell({"kernel": [10, 4], "depth": 2}, {"score": 0.5, "size": 1})
        trials = sampler.ask(6)
        self.assertEqual(len(trials), 5, "one is known")
        for number, parameters in trials:
            self.assertIn(parameters["kernel"], kernels)
            sampler.tell(number, {"score": 0.5, "size": parameters["depth"]})
        with self.assertRaisesRegex(skyline.Error, r"tell: `kernel`: expected one of its 3 values, 3, \[10, 4\], \[3, 1\], got `\[4,10\]`"):
            sampler.tell({"kernel": [4, 10], "depth": 1}, {"score": 1, "size": 1})

    def test_a_shorter_answer_says_whether_more_will_come(self):
        sampler = self.sampler(search={"algorithm": "local_search", "initial": 4})
        trials = sampler.ask(12)
        self.assertEqual((len(trials), sampler.ask(), sampler.done), (4, [], False))
        for number, parameters in trials:
            sampler.tell(number, functions.product(**parameters))
        while trials := sampler.ask():
            self.assertFalse(sampler.done)
            sampler.tell(trials[0].number, None)
        self.assertTrue(sampler.done)

    def test_known_results_count_as_its_own(self):
        sampler = self.sampler({"x": range(1, 101)}, [{"minimize": "y"}])
        for x in range(10, 100, 9):
            sampler.tell({"x": x}, (x - 42) ** 2)
        chosen = []
        for _ in range(8):
            (number, parameters), = sampler.ask()
            chosen.append(parameters["x"])
            sampler.tell(number, float((parameters["x"] - 42) ** 2))
        self.assertEqual(number, 10 + 7)
        self.assertIn(42, chosen)
        self.assertFalse(set(chosen) & set(range(10, 100, 9)))
        sampler.tell({"x": 50}, float("nan"))
        sampler.ask()

    def test_metrics_that_are_known_before_a_training_need_no_values(self):
        metrics = {"area": {"is": "$lr * $depth"}, "score": {"better": "higher"}}
        for objectives, more in ((OBJECTIVES[:1], {"constraints": [{"area": [0, 0.8]}]}), ([{"minimize": "area"}, *OBJECTIVES[:1]], {}),
                                 ([{"minimize": "area"}], {"constraints": [{"score": [0, 1]}]})):
            with self.subTest(objectives):
                sampler = self.sampler(objectives=objectives, metrics=metrics, **more)
                for values in (0.9, {"score": 0.9}, {"score": 0.9, "area": 5}, None):
                    (number, parameters), = sampler.ask()
                    sampler.tell(number, values)
                with self.assertRaisesRegex(skyline.Error, "^tell: values: lacks the metric `score`"):
                    sampler.tell({"lr": 0.1, "depth": 1}, {"area": 5})
                self.assertEqual(len(sampler.ask()), 1)
        sampler = self.sampler(objectives=[{"minimize": "area"}], metrics=metrics)
        with self.assertRaisesRegex(skyline.Error, "^tell: expected values by name, of no metric, got 3.0"):
            sampler.tell(sampler.ask()[0].number, 3.0)

    def test_it_needs_no_metric_that_is_told(self):
        space = {"a": [1, 2, 3], "b": [1, 2]}
        product = {"x": {"is": "$a * $b"}}
        for more in ({"metrics": product}, {"computed": {"metrics": product}}, {"metrics": product, "constraints": [{"x": [2, 4]}]}):
            with self.subTest(more):
                sampler = self.sampler(space, [{"maximize": "x"}], **more)
                trials = sampler.ask(20)
                self.assertEqual(len(trials), 4 if "constraints" in more else 6)
                for number, _ in trials:
                    sampler.tell(number, {})
                self.assertEqual((sampler.ask(), sampler.done), ([], True))
        network = {"parameters": {"width": [8, 16]}, "network": ["flatten", {"linear": {"features": "$width"}}, {"linear": {"features": "$classes"}}]}
        self.assertEqual(len(self.sampler(network, [{"minimize": "flops"}], data={"shape": [1, 8, 8], "classes": 10}).ask(9)), 2)

    def test_algorithms_have_lengths_of_their_own(self):
        space = {"width": [16, 32, 64], "rate": [0.1, 0.2]}
        for search, most in (({"algorithm": "random", "trials": 3}, 3), ({"trials": 2}, 2), ({"algorithm": "skyline", "trials": 4}, 4),
                             ({"algorithm": "nsga2"}, 6), ({"algorithm": "evolution_pareto", "iterations": 2, "initial": 3}, 6), ({}, 6)):
            with self.subTest(search):
                sampler = self.sampler(space, search=search)
                asked = 0
                for _ in range(most):
                    for number, parameters in sampler.ask(9):
                        asked += 1
                        sampler.tell(number, {"score": parameters["rate"], "size": parameters["width"]})
                self.assertLessEqual(asked, most)
                self.assertGreater(asked, 0)
                if "trials" in search:
                    self.assertEqual((asked, sampler.done), (most, True))

    def test_a_named_algorithm_goes_on_as_long_as_it_is_asked(self):
        space = {"width": list(range(1, 101)), "rate": [0.1, 0.2]}
        for name in ("random", "regularized_evolution", "mo_bananas"):
            with self.subTest(name):
                sampler = self.sampler(space, search={"algorithm": name})
                for _ in range(110):
                    for number, parameters in sampler.ask():
                        sampler.tell(number, {"score": parameters["rate"], "size": parameters["width"]})
                self.assertEqual((len(sampler.ask()), sampler.done), (1, False))

    def test_costs_of_networks_need_no_values(self):
        network = ["flatten", {"linear": {"features": "$width"}}, {"linear": {"features": "$classes"}}]
        sampler = self.sampler({"parameters": {"width": {"choice": [8, 16, 32]}}, "network": network}, [{"maximize": "accuracy"}, {"minimize": "flops"}],
                               constraints=[{"parameters": [0, 1500]}], data={"shape": [1, 8, 8], "classes": 10})
        trials = sampler.ask(3)
        self.assertEqual({trial.parameters["width"] for trial in trials}, {8, 16})
        for trial in trials:
            sampler.tell(trial.number, 0.5)
        self.assertEqual(sampler.ask(), [])

    def test_mistakes_are_refused_and_it_goes_on(self):
        sampler = self.sampler()
        (number, parameters), = sampler.ask()
        for trial, values, said in ((5, None, "trial 5 was not proposed"), (number, {"score": 1}, "values: lacks the metric `size`"),
                                    (number, 3.0, "expected values by name, of score, size, got 3.0"),
                                    (0.0, None, "trial: expected a whole number, got 0.0"), ("0", None, 'trial: .*got "0"'),
                                    (True, None, "trial: .*got true"), (None, None, "missing member `parameters`"), (number, {"score": "high", "size": 1}, "score: .*got 'high'"),
                                    (number, {"score": [1], "size": 1}, "score: expected a number or None, got"),
                                    (-1, None, "trial: expected a whole number, got -1"), ({"lr": 0.1}, None, "lacks the parameter `depth`"),
                                    ({"lr": 0.1, "dept": 1}, None, "the space has no parameter `dept`, did you mean `depth`"),
                                    ({"lr": 0.3, "depth": 1}, None, "`lr`: expected one of its 3 values, 0.1, 0.2, 0.4, got `0.3`"),
                                    ({"lr": math.nan, "depth": 1}, None, "`lr`: expected one of its 3 values, .*got `\"nan\"`"),
                                    ({"lr": 0.1, "depth": object}, None, "`depth`: expected one of its 4 values, .*got `\"<class 'object'>\"`"),
                                    ({"lr": 0.1, "depth": True}, None, "`depth`: expected one of its 4 values, 1, 2, 3, 4, got `true`")):
            with self.subTest(said), self.assertRaisesRegex(skyline.Error, f"^tell: {said}"):
                sampler.tell(trial, values)
        for count in (1.5, 1.0, "1", True, None, math.nan, 0, 10_001):
            with self.subTest(count), self.assertRaisesRegex(skyline.Error, "^ask: expected a (whole number|number from 1 to 10000), got "):
                sampler.ask(count)
        sampler.tell(number, {"score": 1, "size": 2, "more": 3})
        with self.assertRaisesRegex(skyline.Error, "^tell: trial 0 has a result already"):
            sampler.tell(number, None)
        self.assertEqual(len(sampler.ask()), 1)
        sampler.close()
        sampler.close()
        with self.assertRaisesRegex(skyline.Error, "^the sampler is closed"):
            sampler.ask()

    def test_what_the_program_refuses_is_its_line(self):
        for space, objectives, more, said in (({"x": []}, [{"minimize": "y"}], {}, "^space: x: expected"), (SPACE, [{"minimise": "y"}], {}, "objectives"),
                                              (SPACE, OBJECTIVES, {"search": {"algorithm": "program", "run": ["true"]}}, "search.algorithm: a program chooses there"),
                                              (SPACE, OBJECTIVES, {"search": {"budgets": [1, 3]}, "command": {"epochs": 3}}, "trials that are continued")):
            with self.subTest(said), self.assertRaisesRegex(skyline.Error, said) as refused:
                self.sampler(space, objectives, **more)
            self.assertEqual(refused.exception.exit_code, 2)
        sampler = self.sampler(search={"algorithm": "random"})
        with self.assertRaisesRegex(skyline.Error, "^tell: `algorithm: random` takes no results of trials that it has not proposed$"):
            sampler.tell({"lr": 0.1, "depth": 1}, None)
        self.assertEqual(sampler.ask()[0].number, 0)

    def test_values_that_are_no_finite_numbers_are_failures(self):
        sampler = self.sampler()
        for value in (None, math.nan, math.inf, 10 ** 400):
            (number, parameters), = sampler.ask()
            sampler.tell(number, {"score": value, "size": 1})
        self.assertEqual(len(sampler.ask()), 1)

    def test_bounds_may_be_open(self):
        metrics = {"score": {"range": [0, math.inf]}, "area": {"is": "$lr * $depth"}}
        sampler = self.sampler(metrics=metrics, constraints=[{"size": [-math.inf, 5]}, {"area": [0.8, math.inf]}])
        trials = sampler.ask(12)
        self.assertEqual(sorted((each.parameters["lr"], each.parameters["depth"]) for each in trials), [(0.2, 4), (0.4, 2), (0.4, 3), (0.4, 4)])
        with self.assertRaisesRegex(skyline.Error, r"constraints\[0\].size\[0\]: expected a number, a text, a list or a dictionary, got nan"):
            self.sampler(constraints=[{"size": [math.nan, 5]}])
        with self.assertRaisesRegex(skyline.Error, "space: lr: a value is a finite number, .* got inf"):
            self.sampler({"lr": [0.1, math.inf]})
        with self.assertRaisesRegex(skyline.Error, "^search.trials: expected a whole number from 1 to 1000000, got .inf"):
            self.sampler(search={"trials": math.inf})

    def test_it_ends_with_its_sampler(self):
        with self.sampler() as sampler:
            process = sampler._process.process
            self.assertIsNone(process.poll())
        self.assertEqual(process.poll(), 0)
        sampler = skyline.Sampler(SPACE, OBJECTIVES)
        process = sampler._process.process
        del sampler
        self.assertEqual(process.poll(), 0)

    def test_the_command_reads_a_configuration_of_a_network(self):
        (self.folder / "net.yaml").write_text(
            "data: {shape: [1, 8, 8], classes: 10}\nsynthetic: {}\n"
            "space: {parameters: {width: {choice: [8, 16, 32]}}, network: [flatten, linear: {features: $width}, linear: {features: $classes}]}\n"
            "objectives: [maximize: validation_accuracy, minimize: flops]\nconstraints: [{flops: [0, 4.0e+3]}]\nsearch: {trials: 9}\n")
        told = '{"tell": {"trial": 0, "values": {"validation_accuracy": 0.5, "flops": 1}}}'
        lines = ['{"ask": 1}', "", told, told, '{"tell": {"parameters": {"width": 16}, "values": {"validation_accuracy": 0.6}}}', '{"ask": "x"}', "?", '{"ask": 9}']
        done = subprocess.run([PROGRAM, "sampler", "net.yaml"], input="\n".join(lines), capture_output=True, text=True)
        first, *answers = map(json.loads, done.stdout.splitlines())
        self.assertEqual(first["space"], {"width": [8, 16, 32]})
        self.assertEqual(first["constraints"], [{"flops": [0, 4000]}])
        self.assertEqual(answers, [{"answer": [{"width": 8}], "first": 0}, {"told": 0}, {"error": "trial 0 has a result already"}, {"told": 1},
                                   {"error": 'ask: expected a whole number, got "x"'}, {"error": "expected an object of JSON in one line, got `?`"},
                                   {"answer": [], "first": 2, "done": True}])
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        done = subprocess.run([PROGRAM, "sampler", "net.yaml"], input=" " * (1 << 21), capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (2, "skyline: sampler: line 1 of its report: it is longer than 1048576 bytes\n"))

    def test_a_call_that_is_interrupted_leaves_the_next_ones_as_they_are(self):
        sampler = self.sampler()
        (number, parameters), = sampler.ask()
        pipe = sampler._process.process.stdout
        for call in (lambda: sampler.ask(2), lambda: sampler.tell(number, functions.product(**parameters))):
            with unittest.mock.patch.object(sampler._process.process, "stdout", types.SimpleNamespace(readline=unittest.mock.Mock(side_effect=KeyboardInterrupt))):
                with self.assertRaises(KeyboardInterrupt):
                    call()
            self.assertIs(sampler._process.process.stdout, pipe)
        with self.assertRaisesRegex(skyline.Error, "^tell: trial 0 has a result already$"):
            sampler.tell(number, None)
        self.assertEqual([trial.number for trial in sampler.ask(2)], [3, 4], "two were asked for in vain")


if __name__ == "__main__":
    unittest.main()
