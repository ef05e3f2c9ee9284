"""What the tests of reports share: a browser without a window and without a network."""

import json
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
CHROMIUM = sys.argv.pop(3)

from browser import Browser
from skyline_runs import SOURCE, RunsCase

MOST_BYTES = 15_000_000
# Number of drawn marks of a plot's traces: points, bars, lines, cells.
MARKS = """(name) => document.querySelector(`[data-plot="${name}"]`).data?.reduce((sum, trace) =>
  sum + (trace.dimensions ? trace.dimensions[0].values.length : trace.z && !trace.type.endsWith("3d") ? trace.z.length : trace.x.length), 0) ?? 0"""


class ReportCase(RunsCase):
    @classmethod
    def setUpClass(cls):
        assert not CHROMIUM.endswith("-NOTFOUND"), f"{CHROMIUM}: install it with SKYLINE_EXPORT_TESTS=1 scripts/setup"
        super().setUpClass()
        cls.browser = Browser(CHROMIUM)
        cls.browser.size(1000, 700)

    @classmethod
    def tearDownClass(cls):
        cls.browser.close()
        super().tearDownClass()

    def synthetic(self, run, *more, expect=0):
        self.skyline("search", SOURCE / "configs/synthetic.yaml", "--set", "synthetic.seconds_per_gflop=0",
                     "--run", run, "--quiet", *more, expect=expect)

    def report(self, *runs):
        """Opens the report of runs with all its plots drawn, and checks what holds for all of them."""
        self.skyline("report", *runs, "--out", "report.html", "--force")
        page = self.folder / "report.html"
        self.assertLess(page.stat().st_size, MOST_BYTES)
        self.browser.open(page)
        self.draw()
        beyond = [url for url in self.browser.requests if not re.match(r"data:|blob:", url)]
        self.assertEqual(beyond, [f"file://{page}"], "the page asks for nothing else")
        self.assertTrue(self.browser.run("hasWebGL()"))

    def draw(self):
        """Plots out of view too, as far as they have changed."""
        self.browser.run("[...PLOTS.keys()].forEach(drawNow)")
        self.assertEqual(self.browser.errors, [])

    def marks(self, *names):
        return [self.browser.run(f"({MARKS})('{name}')") for name in names]

    def text(self, selector):
        return self.browser.run(f"document.querySelector({json.dumps(selector)}).textContent")

    def choose(self, control, value):
        self.browser.run(f"""(() => {{ const control = byId({json.dumps(control)});
            if (control.type === "checkbox") control.checked = {json.dumps(value)}; else control.value = {json.dumps(value)};
            control.dispatchEvent(new Event(control.type === "search" ? "input" : "change")); }})()""")
        self.draw()

    def table(self):
        return self.browser.run("[...byId('trials').tBodies[0].rows].map((row) => [...row.cells].map((cell) => cell.textContent))")
