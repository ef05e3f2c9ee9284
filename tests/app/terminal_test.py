"""The terminal teaches: every command's help has an example that parses, and a search ends with commands that work."""

import re
import subprocess
import unittest

from skyline_runs import PROGRAM, SOURCE, TIMEOUT_S, RunsCase

# A whole search of seconds.
SMALL = ["--set", "data.file=digits.h5", "--set", "search.iterations=1", "--set", "search.initial=3", "--set", "training.epochs=1"]
MOST_LINES = 12


def table_of_steps(said):
    """The lines of the table `next` at the end of a search."""
    return re.search(r"\n\n((?:next +)?command\n-.*?)\n\nskyline: done: ", said, re.DOTALL)[1].splitlines()


def steps_of(said):
    """The commands of that table, without the program's name."""
    return [line.partition("skyline ")[2].split() for line in table_of_steps(said)[2:]]


class Help(RunsCase):
    def test_every_command_has_one_example_which_its_parser_takes(self):
        commands = re.findall(r"^  ([a-z]+) ", self.skyline("--help").stdout.partition("Subcommands:")[2], re.MULTILINE)
        self.assertGreater(len(commands), 20)
        for command in commands:
            with self.subTest(command=command):
                examples = re.findall(r"^Example: (.+)$", self.skyline(command, "--help").stdout, re.MULTILINE)
                self.assertEqual(len(examples), 1)
                words = re.fullmatch(rf"(?:mpirun -np 2 )?skyline ({command}\b[^>]*)(?: > \S+)?", examples[0])[1].split()
                done = subprocess.run([PROGRAM, *words], cwd=self.folder, capture_output=True, text=True, timeout=TIMEOUT_S)
                # The files that it names are not there, which is another error than a wrong usage.
                self.assertIn(done.returncode, (0, 2), done.stderr)
                self.assertNotRegex(done.stderr, r"--help\)|unknown (option|command|kind)")


class NextSteps(RunsCase):
    def test_every_command_that_the_end_of_a_search_proposes_works(self):
        done = self.skyline("search", SOURCE / "configs/digits.yaml", *SMALL, "--set", "final=none", "--run", "a run/")
        self.assertLessEqual(len(table_of_steps(done.stdout)), MOST_LINES)
        commands = [line.partition("skyline ")[2] for line in table_of_steps(done.stdout)[2:]]
        self.assertEqual([command.split()[0] for command in commands],
                         ["show", "predict", "export", "train", "search", "search", "compare"])
        for command in commands:
            with self.subTest(command=command):
                shell = f"'{PROGRAM}' {command.replace(' NEW ', ' digits.h5 ')}"
                run = subprocess.run(["bash", "-c", shell], cwd=self.folder, capture_output=True, text=True, timeout=TIMEOUT_S)
                self.assertEqual(run.returncode, 0, run.stderr)
        self.assertEqual(steps_of(self.skyline("search", "--run", "a run", "--resume").stdout)[-1][0], "compare")

    def test_steps_suit_the_run(self):
        done = self.skyline("search", SOURCE / "configs/digits.yaml", *SMALL, "--set", "final.epochs=1", "--run", "final")
        self.assertEqual([words[0] for words in steps_of(done.stdout)], ["show", "predict", "export", "search", "search", "compare"])
        done = self.skyline("search", SOURCE / "configs/synthetic.yaml", "--run", "synthetic")
        self.assertEqual([words[0] for words in steps_of(done.stdout)], ["show", "search", "search", "compare"])
        self.assertIn("--set search.iterations=10", done.stdout)
        done = self.skyline("train", "final", "--front", "--epochs", "1", "--run", "again")
        self.assertEqual([words[0] for words in steps_of(done.stdout)], ["show", "predict", "export"])
        (self.folder / "own.sh").write_text("echo '{\"result\": {\"loss\": '$1'}}' >&$SKYLINE_REPORT_FD\n")
        (self.folder / "own.yaml").write_text("space: {parameters: {rate: {choice: [0.1, 0.2]}}}\nobjectives: [minimize: loss]\n"
                                              "command: {run: [sh, own.sh, '{rate}'], metrics: {loss: {better: lower}}}\n"
                                              "search: {algorithm: exhaustive}\n")
        done = self.skyline("search", "own.yaml", "--run", "own")  # no network, and `trials: all`
        self.assertEqual([words[0] for words in steps_of(done.stdout)], ["search", "compare"])
        quiet = self.skyline("search", SOURCE / "configs/synthetic.yaml", "--run", "quiet", "--quiet")
        self.assertNotIn("\nnext ", quiet.stdout)

    def test_on_a_narrow_terminal_the_commands_stand_alone(self):
        said = self.on_terminal(60, "search", SOURCE / "configs/synthetic.yaml", "--run", "narrow")
        self.assertEqual(table_of_steps(said)[0], "command")
        self.assertEqual(steps_of(said)[0], ["show", "narrow", "--trial", "37"])


if __name__ == "__main__":
    unittest.main()
