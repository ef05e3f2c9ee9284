"""A space of 27 parameters: what goes to a terminal fits it, and what goes to a log can be read."""

import re
import unittest

from skyline_runs import SOURCE, RunsCase

NAMES = [f"width_of_block_{i}" for i in range(26)]
SPACE = ("space={parameters: {" + ", ".join(f"{name}: {{choice: [8, 16]}}" for name in NAMES) + ", kernel: {choice: [3]}}, network: ["
         + ", ".join(f"conv2d: {{channels: ${name}, kernel: $kernel, padding: same}}" for name in NAMES)
         + ", global_average_pool, linear: {features: $classes}]}")
MOST_OF_A_LOG_LINE = 160


class WideSpaces(RunsCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.log = cls().skyline("search", SOURCE / "configs/synthetic.yaml", "--set", SPACE, "--set", "synthetic.seconds_per_gflop=0", "--set",
                                "final.epochs=20", "--set", "search={algorithm: evolution_pareto, iterations: 3, initial: 10, max_unseen: 16}",
                                "--run", "wide").stderr

    def front(self, text):
        """The lines of the table of the front."""
        lines = text[text.index("The final front"):].splitlines()[1:]
        return lines[:next(i for i, line in enumerate(lines) if line.startswith(("hypervolume", "Full trainings")))]

    def test_tables_fit_the_terminal_and_name_what_shows_the_rest(self):
        for columns in (80, 120):
            text = self.on_terminal(columns, "status", "wide")
            table = self.front(text)
            self.assertLessEqual(max(map(len, table)), columns, "\n".join(table))
            account = text[text.rindex("ccount of time"):text.index("\nutilization ")].splitlines()[1:]
            self.assertLessEqual(max(map(len, account)), columns, "\n".join(account))
            self.assertRegex(table[-1], r"^without \d+ columns: skyline show wide --trial NUMBER$")
            for title in ("trial", "accuracy", "flops", "final front"):
                self.assertIn(title, "\n".join(table))
        self.assertEqual(self.front(self.on_terminal(300, "status", "wide", environment={"COLUMNS": "80"})), self.front(self.on_terminal(80, "status", "wide")))

    def test_columns_that_do_not_differ_are_left_out_first(self):
        narrow = self.front(self.on_terminal(120, "status", "wide"))
        self.assertTrue(any("block_" in line for line in narrow), narrow)
        self.assertNotIn("kernel", "\n".join(narrow))
        self.assertNotIn("arch", "\n".join(narrow))

    def test_text_for_a_pipe_has_a_fixed_width(self):
        lines = self.front(self.skyline("status", "wide", environment={"COLUMNS": "80"}).stdout)
        self.assertLessEqual(max(map(len, lines)), 160)
        self.assertGreater(max(map(len, lines)), 120)

    def test_lines_of_the_log_are_short_and_name_what_is_new(self):
        lines = [line for line in self.log.splitlines() if " committed: " in line]
        self.assertGreater(len(lines), 20)
        self.assertLessEqual(max(map(len, self.log.splitlines())), MOST_OF_A_LOG_LINE)
        self.assertTrue(any(re.search(r"trial \d+ committed: as trial \d+ but width_of_block_\d+=(8|16) .*validation_accuracy=0\.\d+ flops=", line) for line in lines), lines)
        self.assertTrue(any(re.search(r"trial \d+ committed: width_of_block_0=\d+ .*\+\d+ more validation_accuracy", line) for line in lines), lines)


if __name__ == "__main__":
    unittest.main()
