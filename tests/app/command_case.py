"""What the tests of users' own trainers share."""

import json
import pathlib
import shutil
import sys
import time

from skyline_runs import SOURCE, RunsCase, read_json

TRAINER = SOURCE / "tests/app/command/trainer.py"


def processes_with(word):
    """The live processes whose command lines have this word."""
    found = []
    for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if word.encode() in path.read_bytes():
                found.append(int(path.parent.name))
        except OSError:  # it has just ended
            continue
    return found


class TrainerCase(RunsCase):
    """Searches over the trainer of the tests."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.marks = cls.folder / "marks"

    def setUp(self):
        shutil.rmtree(self.marks, ignore_errors=True)
        self.marks.mkdir()

    def config(self, parameters, command="", search="{algorithm: exhaustive}", arguments=(), rest=""):
        """A configuration of the test's trainer. A copy of it has the test's name, by which its processes are found."""
        self.trainer = self.folder / f"{self.id().rsplit('.', 1)[-1]}.py"
        shutil.copy(TRAINER, self.trainer)
        path = self.trainer.with_suffix(".yaml")
        run = json.dumps([sys.executable, str(self.trainer), "{parameters}", *arguments])
        path.write_text(f"space: {{parameters: {parameters}}}\n"
                        f"command: {{run: {run}, metrics: {{score: {{better: higher, range: [0, 100]}}}}, "
                        f"env: {{MARKS: {self.marks}}}{command}}}\n"
                        f"objectives: [maximize: score]\nsearch: {search}\n{rest}")
        return path

    def trials(self, run):
        return read_json(self.folder / run / "models.json")["trials"]

    def starts(self):
        """The trials that were started, once for each start."""
        return sorted(path.name.split(".")[0] for path in self.marks.iterdir())

    def check_nothing_is_left(self, run):
        self.check_no_process_is_left()
        self.assertEqual(list((self.folder / run / "trainer").glob("attempts/*")), [])

    def check_no_process_is_left(self):
        """Processes of trials are gone a second after their rank; on a busy machine it takes longer. Returns how long, in seconds."""
        start = time.monotonic()
        self.wait_until(lambda: not processes_with(self.trainer.name), "processes of trials are still there")
        return time.monotonic() - start

    def probe(self, run, command="", arguments=(), ranks=2, environment=None):
        """What each process of the only trial saw, by rank."""
        config = self.config("{does: {choice: [probe]}, text: {choice: [\"; rm -rf $(x)\\n`y` {z}\"]}}", command, arguments=arguments)
        self.skyline("search", config, "--run", run, ranks=ranks, environment=environment)
        found = {path.name: json.loads(path.read_text()) for path in self.marks.glob("probe.*")}
        return [found[name] for name in sorted(found)]
