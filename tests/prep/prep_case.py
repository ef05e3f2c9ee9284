"""What the tests of `skyline.prep` share: they run it in this process, and read the file that it makes."""

import json
import pathlib
import sys
import tempfile
import unittest
from dataclasses import dataclass, field

import h5py

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "python"))

from skyline.prep.__main__ import main  # noqa: E402  (the tree's package)


@dataclass
class Said:
    """What a process that prepares has said, and what it made."""

    code: int
    lines: list[str] = field(default_factory=list)
    error: str = ""
    file: pathlib.Path = pathlib.Path()
    rows: dict = field(default_factory=dict)  # new samples, as read from --rows

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    @property
    def checks(self) -> list[str]:
        return [line for line in self.lines if line.startswith("check: ")]

    def array(self, name: str):
        with h5py.File(self.file) as file:
            return file[name][:]

    def names(self) -> list[str]:
        with h5py.File(self.file) as file:
            return [name.decode() for name in file["class_names"][:]]

    def preparation(self) -> dict:
        with h5py.File(self.file) as file:
            return json.loads(file["preparation"][0])

    def run(self) -> dict:
        """What a run that learns from this file says of it (RunData)."""
        with h5py.File(self.file) as file:
            targets = {"i": "classes", "u": "labels", "f": "numbers"}[file["train/targets"].dtype.kind]
            return {"shape": file["train/values"].shape[1:], "class_names": self.names(), "targets": targets,
                    "value_scale": file.attrs["value_scale"],
                    "preparation": file["preparation"][0].decode() if "preparation" in file else ""}


class PrepCase(unittest.TestCase):
    """A test with a folder of its own."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def write(self, name: str, content: str | bytes) -> pathlib.Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    def prep(self, kind: str, *arguments: object, action: str = "prepare", start: tuple[str, ...] = ()) -> Said:
        """Runs `skyline.prep` with sources and options; relative sources are in the test's folder."""
        said = Said(0, file=self.folder / "made.h5")
        sources = [self.folder / each if not str(each).startswith("-") and (self.folder / str(each)).exists() else each
                   for each in arguments]
        with tempfile.TemporaryFile() as report:  # a pipe has room for 64 KiB alone
            said.code = main(["--report-fd", str(report.fileno()), *start, action, kind, "--out", str(said.file), "--force",
                              *map(str, sources)])
            report.seek(0)
            for line in report:
                (key, text), = json.loads(line).items()
                if key == "line":
                    said.lines.append(text)
                elif key == "error":
                    said.error = text
        return said

    def apply(self, kind: str, *arguments: object, run: dict, has_targets: bool = False) -> Said:
        """Reads new samples for the networks of a run."""
        rows = self.folder / "rows.json"
        said = self.prep(kind, f"--run={self.write('run.json', json.dumps(run))}", f"--rows={rows}",
                         *([] if has_targets else ["--no-targets"]), *arguments, action="apply")
        said.rows = json.loads(rows.read_text()) if said.code == 0 else {}
        return said

    def refused(self, expected: str, kind: str, *arguments: object) -> Said:
        """Checks that a source is refused by one line with these words."""
        said = self.prep(kind, *arguments)
        self.assertEqual((said.code, expected in said.error), (2, True), said.error or said.text)
        self.assertNotIn("\n", said.error)
        return said

    def read(self, kind: str, *arguments: object) -> Said:
        """Checks that a source is read."""
        said = self.prep(kind, *arguments)
        self.assertEqual(said.code, 0, said.error)
        return said
