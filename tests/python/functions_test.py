"""Which functions a new Python finds by name, and what is said of those that it cannot find."""

import ast
import functools
import py_compile
import re
import subprocess
import sys
import unittest

from package_case import PROGRAM, SOURCE, PackageCase

import functions
import skyline
from skyline._functions import address_of

CONDITIONAL = {"optimizer": ["adam", "sgd"], "momentum": {"choice": [0, 0.9], "when": "$optimizer == sgd"}}


class Functions(PackageCase):
    def refusal(self, function):
        with self.assertRaises(skyline.Error) as refused:
            skyline.search({"depth": [1]}, function, maximize="score")
        self.assertEqual(list((self.folder).glob("runs*")), [], "something was written")
        return str(refused.exception)

    def test_a_lambda_a_nested_function_and_an_object_are_refused_with_what_to_do(self):
        def nested(depth):
            return depth

        for function, said in ((lambda depth: depth, "is a lambda"), (nested, "`Functions.*nested` is defined within another function")):
            with self.subTest(said):
                self.assertRegex(self.refusal(function), f"^train: {said}.*write it into a file, e.g. my_trainer.py, and import it")
        for function, said, example in (
                (functools.partial(functions.one_number, lr=1), "is a functools.partial of `one_number`", "train = functools.partial(one_number, ...)"),
                (functions.Trainer(5).fit, "`Trainer.fit` is a method of an object", "trainer = Trainer(), and give trainer.fit"),
                (functions.Trainer(5), "is an object of the class `Trainer`", "trainer = Trainer()")):
            with self.subTest(said):
                self.assertEqual(self.refusal(function), f"train: {said} that no module has by name; trials run in other Pythons, which import it by "
                                 f"name: make it at the top level of a file that you import, e.g. {example}. Or write a function of the parameters "
                                 "alone, whose module loads the rest in warm_up() (docs/python.md)")

    def test_whatever_a_module_has_by_name_is_taken(self):
        for function, address, score in ((functions.trainer, "trainer", 4), (functions.named, "named", None),
                                         (functions.Trainer.of_class, "Trainer.of_class", None), (functions.Derived.of_class, "Derived.of_class", 6),
                                         (functions.Derived.of_nothing, "Trainer.of_nothing", None), (functions.quick, "quick", 0.2),
                                         (functions.Trainer(9).of_nothing, "Trainer.of_nothing", None), (functions.trainer.fit, "trainer.fit", 4)):
            with self.subTest(address):
                self.assertEqual(address_of(function)[0], f"functions:{address}")
                if score is None:
                    continue
                run = skyline.search({"depth": [2]}, function, maximize="score", trials=1, quiet=True, folder=f"taken/{address}").wait()
                self.assertEqual(run.rows[0]["score"], score)

    def test_what_is_made_below_the_guard_is_not_there_for_trials(self):
        text = ("import functools, skyline\ndef train(depth): return depth\nif __name__ == '__main__':\n    quick = functools.partial(train)\n"
                "    def late(depth): return depth\n"
                "    skyline.search({'depth': [1]}, FUNCTION, maximize='score', quiet=True, folder='guarded').wait()\n")
        self.assertIn("skyline.Error: train: is a functools.partial of `train` that no module has by name; trials run in other Pythons",
                      self.run_script(text.replace("FUNCTION", "quick"), expect=1))
        self.assertIn("skyline.Error: train: `late` is made below `if __name__ == \"__main__\":`; trials run in other Pythons, which import it by "
                      "name: make it above", self.run_script(text.replace("FUNCTION", "late"), expect=1))
        self.assertFalse((self.folder / "guarded").exists())
        self.run_script(text.replace("    quick", "quick").replace("if __name__ == '__main__':\nquick = functools.partial(train)",
                                                                  "quick = functools.partial(train)\nif __name__ == '__main__':")
                        .replace("FUNCTION", "quick"))

    def test_a_function_of_the_script_is_found_there_wherever_else_the_script_puts_it(self):
        (self.folder / "settings.py").write_text("trainer = None\n")
        text = ("import settings\nfrom os.path import *\nfrom skyline._functions import address_of\ndef train(depth): return depth\n"
                "async def late(depth): return depth\nsettings.trainer = train\nprint(address_of(train)[0], address_of(late)[0])\n")
        self.assertEqual(self.run_script(text, name="putting.py"), "putting.py:train putting.py:late\n")
        compiled = py_compile.compile("putting.py", "putting.pyc")
        done = subprocess.run([sys.executable, compiled], capture_output=True, text=True, env={"PYTHONPATH": str(SOURCE / "python")})
        self.assertRegex(done.stderr, r"Error: train: `train` is defined in \S*putting.pyc, which is no .py file; trials run")

    def test_a_signature_that_does_not_fit_is_refused_with_the_name_of_the_parameter(self):
        def refused(function, space=("depth",)):
            with self.assertRaises(skyline.Error) as problem:
                skyline.search(space if isinstance(space, dict) else dict.fromkeys(space, [1]), function, maximize="score", folder="never")
            return str(problem.exception)

        self.assertRegex(refused(functions.quick, ("width",)), r"^train: `quick\(depth, \*, lr=1\)` gets the parameters .*, width: .*'(depth|width)'$")
        self.assertRegex(refused(functions.trainer.fit, ("width",)), r"^train: `trainer.fit\(depth\)` gets the parameters .*'(depth|width)'$")
        for space in ({**CONDITIONAL, "rate": [1]}, {"parameters": {**CONDITIONAL, "rate": [1]}, "where": "$rate > 0"}):
            self.assertEqual(refused(functions.without_a_default, space), "train: `without_a_default(optimizer, momentum, rate)`: momentum is not always "
                             "used: give it a default")
        self.assertRegex(refused(functions.Trainer.fit), r"^train: `Trainer.fit\(self, depth\)` .*'self'$")

    def test_neither_a_function_nor_a_program_is_refused(self):
        self.assertIn("train: expected a function, or a program with its arguments in a list, got 3", self.refusal(3))
        self.assertIn("got 'train.py'", self.refusal("train.py"))

    def test_a_function_whose_name_is_another_one_now_is_refused(self):
        old, functions.product = functions.product, functions.slow
        try:
            self.assertIn("`product` of functions is another object", self.refusal(old))
        finally:
            functions.product = old

    def test_a_function_of_a_prompt_is_refused_with_what_to_do_in_a_notebook(self):
        code = ("import skyline\ndef train(depth): return depth\nskyline.search({'depth': [1]}, train, maximize='score')\n")
        for how in (["-c", code], ["-"]):
            done = subprocess.run([sys.executable, *how], input=code, text=True, capture_output=True, env={"PYTHONPATH": str(SOURCE / "python")})
            self.assertRegex(done.stderr, r"skyline.Error: train: `train` is defined in a notebook or at a prompt; .*%%writefile my_trainer.py")

    def test_a_module_of_a_package_is_found_from_the_folder_that_holds_the_package(self):
        (self.folder / "lib/pack/deep").mkdir(parents=True)
        for file in ("lib/pack/__init__.py", "lib/pack/deep/__init__.py"):
            (self.folder / file).touch()
        (self.folder / "lib/pack/deep/own.py").write_text("class Own:\n    @staticmethod\n    def train(depth):\n        return depth\n")
        sys.path.insert(0, str(self.folder / "lib"))
        self.addCleanup(sys.path.remove, str(self.folder / "lib"))
        from pack.deep.own import Own

        self.assertEqual(address_of(Own.train), ("pack.deep.own:Own.train", [str(SOURCE / "python"), "lib"]))
        self.assertEqual(address_of(ast.parse), ("ast:parse", [str(SOURCE / "python")]))

    def test_the_runner_calls_a_function_by_hand(self):
        runner = [sys.executable, "-m", "skyline.run_trial"]
        for words, said in ((["functions:product", "lr=0.5", "depth=2"], "result: score=1 size=2\n"),
                            (["functions.py:one_number", "depth=2", "score"], "result: score=0.2\n")):
            done = subprocess.run([*runner, *words], capture_output=True, text=True, cwd=SOURCE / "tests/python", env={"PYTHONPATH": str(SOURCE / "python")})
            self.assertEqual((done.stdout, done.stderr), (said, ""))
        for words, said in ((["functions:one_number", "depth=2"], "TypeError: the function returned 0.2: expected a dictionary of its metrics"),
                            (["functions:product", "lr=0.5"], "TypeError: product() missing 1 required positional argument: 'depth'"),
                            (["functions:nothing"], "AttributeError: module 'functions' has no attribute 'nothing'"), ([], "usage: python -m skyline.run_trial")):
            done = subprocess.run([*runner, *words], capture_output=True, text=True, cwd=SOURCE / "tests/python", env={"PYTHONPATH": str(SOURCE / "python")})
            self.assertEqual(done.returncode, 1)
            self.assertIn(said, done.stderr)

    def test_the_package_has_the_version_of_the_program(self):
        told = subprocess.run([PROGRAM, "--version"], capture_output=True, text=True, check=True).stdout
        version = re.search(r'^version = "(.*)"$', (SOURCE / "python/pyproject.toml").read_text(), re.MULTILINE).group(1)
        self.assertIn(version, told.split())
        self.assertIn(f"\nversion: {version}\n", (SOURCE / "CITATION.cff").read_text())

    def test_the_package_is_written_for_python_3_10_and_imports_the_standard_library_alone(self):
        for file in (SOURCE / "python/skyline").glob("*.py"):
            ast.parse(file.read_text(), feature_version=(3, 10))
        done = subprocess.run([sys.executable, "-S", "-c", "import sys, skyline; print({name.split('.')[0] for name in sys.modules} - sys.stdlib_module_names)"],
                              capture_output=True, text=True, env={"PYTHONPATH": str(SOURCE / "python")}, check=True)
        self.assertEqual(ast.literal_eval(done.stdout), {"__main__", "skyline"} - sys.stdlib_module_names)


if __name__ == "__main__":
    unittest.main()
