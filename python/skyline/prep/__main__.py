"""`python3 -m skyline.prep prepare KIND SOURCE... --out FILE`, `apply KIND SOURCE... --run FILE`, `kinds`, `import SYSTEM FILE`, and
`infer onnx MODEL`, `infer npy OUTPUTS`: started by the program.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import pathlib
import sys
from collections.abc import Sequence

from .command_line import CommandLine, asks_for_help, cut_words, kind_lines
from .errors import PrepError
from .kinds import kind_of_run, source_kind
from .report import Report
from .requirements import missing_for_outputs, missing_packages, missing_python

USER_ERROR = 2


def main(arguments: Sequence[str] | None = None) -> int:
    starter = argparse.ArgumentParser(prog="python3 -m skyline.prep", allow_abbrev=False)
    starter.add_argument("--report-fd", type=int, help="descriptor that gets JSON lines (report.py) in place of stdout and stderr")
    starter.add_argument("--by-with", action="store_true", help="messages name options as `--with key=value`")
    starter.add_argument("action", choices=["prepare", "apply", "kinds", "import", "infer"])
    starter.add_argument("kind", nargs="?", default="")
    starter.add_argument("words", nargs=argparse.REMAINDER)
    told = starter.parse_args(arguments)
    report = Report(told.report_fd)
    report.started()
    try:
        return _run(told, report)
    except PrepError as error:
        report.error(str(error))
    except MemoryError:
        report.error(f"{told.action if told.action in ('import', 'infer') else 'prep'} {told.kind} needs more memory than there is")
    except OSError as error:
        report.error(f"{os.fsdecode(error.filename)}: {error.strerror}" if error.filename else str(error))
    return USER_ERROR


def _run(told: argparse.Namespace, report: Report) -> int:
    kind = told.kind
    if kind == "auto":
        options, sources = cut_words(told.words)
        kind = _kind_of_run(options) or source_kind([pathlib.Path(word) for word in sources],
                                                    {word.partition("=")[0].lstrip("-") for word in options})
    needs_none = told.action in ("kinds", "import") or asks_for_help(told.words)
    missing = missing_python() or ([] if needs_none else missing_for_outputs(kind) if told.action == "infer" else missing_packages(kind))
    if missing:
        report.missing(missing)
        return USER_ERROR
    try:
        lines = _lines(told, kind, report)
    except ModuleNotFoundError as error:  # missing module of a kind that another package adds
        report.missing([str(error.name)])
        return USER_ERROR
    for line in lines:
        report.line(line)
    return 0


def _kind_of_run(words: Sequence[str]) -> str:
    """Returns the kind that the run of an `apply` needs, or an empty text."""
    run = next((word.partition("=")[2] for word in words if word.startswith("--run=")), "")
    return kind_of_run(json.loads(pathlib.Path(run).read_text(encoding="utf-8")).get("preparation", "")) if run else ""


def _lines(told: argparse.Namespace, kind: str, report: Report) -> list[str]:
    if told.action == "kinds":
        return kind_lines()
    if told.action == "import":
        from ..importers.command_line import imported_lines  # not for others: it makes a stand-in for archai

        return imported_lines(kind, told.words)
    if told.action == "infer":
        # These need packages that the other actions do without.
        importlib.import_module(".npy_outputs" if kind == "npy" else ".onnx_model", __package__).run(told.words, report)
        return []
    return CommandLine(told, kind, report).run()


if __name__ == "__main__":
    if sys.version_info < (3, 11) and sys.path[0] == os.getcwd():  # later ones leave it out by PYTHONSAFEPATH
        del sys.path[0]
    sys.exit(main())
