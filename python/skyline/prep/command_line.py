"""Words of the command line: the options of a kind, its sources, and how messages name them."""

from __future__ import annotations

import argparse
import json
import os
import pathlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from typing import NoReturn

from .errors import PrepError
from .kinds import Job, Kind, RunData, find_kind, kind_names, kind_of_run, source_kind
from .option_table import OPTIONS, forms_of, respelled
from .options import add_option, whole
from .report import Report
from .wording import joined, suggestion

_MOST_THREADS = 1024
_ALWAYS = ("--help", "--out", "--force", "--threads")  # options of all kinds


def kind_lines() -> list[str]:
    """Returns what there is to prepare: a line for each kind."""
    names = kind_names()
    width = max(map(len, names))
    return ["Usage: skyline prep KIND SOURCE... -o FILE [OPTIONS]", "", "Kinds; each has its own --help:",
            *(f"  {name.ljust(width)}  {_meaning(name)}" for name in names), "",
            "What a larger network says of a data set, for training.teacher: skyline prep teacher --help", "",
            "Example: skyline prep images photos --size 32 -o photos.h5"]


def _meaning(name: str) -> str:
    try:
        return find_kind(name).meaning
    except ImportError as error:
        return f"(needs {error.name})"


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        title = self.prog.removeprefix("skyline ")
        raise PrepError(f"{title}: {message.removeprefix('argument ')} (see {self.prog} --help)")


class CommandLine:
    """One call: `prepare` or `apply`, a kind and its words."""

    def __init__(self, told: argparse.Namespace, name: str, report: Report) -> None:
        self._name, self._applies, self._by_with, self._report = name, told.action == "apply", told.by_with, report
        self._kind = self._find(name)
        self._words, self._behind = cut_words(told.words)
        self._parser = _Parser(prog=f"skyline prep {name}", description=self._kind.meaning, allow_abbrev=False, add_help=False,
                               usage=f"skyline prep {name} {self._kind.sources} -o FILE [OPTIONS]")
        self._kind.add_options(self._parser)
        self._keys = [option for action in self._parser._actions for option in action.option_strings]
        self._add_options_of_all()
        chosen = {"images": "--size", "sounds": "--length"}.get(name, "")
        if told.kind == "auto" and chosen and not self._applies and not self._has(chosen):
            self._words.append(f"{chosen}=auto")

    def run(self) -> list[str]:
        """Returns the lines for the person who started it. Raises PrepError."""
        if asks_for_help(self._words):
            return self._parser.format_help().splitlines()
        if self._by_with:  # `--size=32` becomes `--with size=32`
            names = {*(key.lstrip("-") for key in self._keys), *(option.name for option in OPTIONS)}
            self._report.spell = lambda line: respelled(line, names, lambda name, end: f"--with {name}{end or '='}")
        return self._run()

    def _find(self, name: str) -> Kind:
        if not name:
            raise PrepError(f"prep: a kind of data is needed, {suggestion(name, kind_names())}")
        if name not in kind_names() and not self._applies and os.path.exists(name):
            kind = source_kind([pathlib.Path(name)])
            raise PrepError(f"prep: the kind of data comes first: skyline prep {kind} {name}")
        if name not in kind_names():
            raise PrepError(f"{'--kind' if self._applies else 'prep'}: unknown kind of data `{name}`, {suggestion(name, kind_names())}")
        return find_kind(name)

    def _add_options_of_all(self) -> None:
        parser = self._parser
        parser.add_argument("-h", "--help", action="store_true", help="print this message")
        parser.add_argument("-o", "--out", type=pathlib.Path, required=True, metavar="FILE",
                            help="data set file to write, e.g. data/mine.h5")
        parser.add_argument("--force", action="store_true", help="overwrite the file if it is there")
        add_option(parser, "threads", whole(1, _MOST_THREADS), "threads that read (default: one per core)")
        parser.add_argument("--write-to", type=pathlib.Path, help=argparse.SUPPRESS)  # in place of --out, which messages name
        parser.add_argument("--run", type=pathlib.Path, help=argparse.SUPPRESS)  # JSON of RunData
        parser.add_argument("--rows", type=pathlib.Path, help=argparse.SUPPRESS)  # file that gets Rows as JSON
        parser.add_argument("--no-targets", action="store_true", help=argparse.SUPPRESS)

    def _has(self, option: str) -> bool:
        return any(word == option or word.startswith(option + "=") for word in self._words)

    def _run(self) -> list[str]:
        from .content_checks import content_lines
        from .dataset import TRAIN, DatasetWriter
        from .ranges import outside_lines, with_ranges
        from .summary import check_lines, summary_lines

        self._check_repeated()
        told, others = self._parser.parse_known_args(self._words)
        samples_alone = self._applies and told.no_targets and self._kind.reads_samples_alone
        sources = self._sources([*others, *self._behind], samples_alone)
        writer = DatasetWriter(told.write_to or told.out, told.out)
        job = Job(sources, told, writer, self._report, told.threads or len(os.sched_getaffinity(0)), self._name,
                  [key.lstrip("-") for key in self._keys if self._has(key)], has_targets=not samples_alone)
        if self._applies:
            node = json.loads(told.run.read_text(encoding="utf-8"))
            channels, height, width = node.pop("shape")
            job.run = RunData((channels, height, width), **node)
            needed = kind_of_run(job.run.preparation)
            if needed and needed != self._name:
                raise PrepError(f"{sources[0]}: the run's samples are made of {needed}, which are needed here, too (--kind {needed})")
            if not needed and self._name in ("sounds", "recordings"):
                raise PrepError(f"{sources[0]}: has {self._name}, and the run's samples were made otherwise")
            rows = self._kind.apply(job)
            writer.finish()
            rows.may_fail = rows.may_fail or any(rows.problems)
            told.rows.write_text(json.dumps(asdict(rows)), encoding="utf-8")
            return [*writer.notes, *outside_lines(writer)]
        self._kind.prepare(job)
        if not writer.counts()[TRAIN]:
            raise PrepError(f"prep {self._name}: the training set is empty")
        writer.facts.preparation = with_ranges(writer.facts.preparation, writer.content)
        writer.finish()
        return [*summary_lines(writer), *writer.notes, *check_lines(writer), *content_lines(writer, set(vars(told)))]

    def _check_repeated(self) -> None:
        counts = Counter(word.partition("=")[0] for word in self._words)
        again = next((key for key in self._keys if counts[key] > 1), None)
        if again:
            self._parser.error(f"{again}: given {counts[again]} times")

    def _sources(self, words: Sequence[str], several: bool) -> list[pathlib.Path]:
        """Returns the sources among the words that are no options. Raises PrepError for unknown options."""
        wanted = self._kind.sources
        unknown = next((word for word in words[:len(words) - len(self._behind)] if word.startswith("-") and word != "-"), None)
        if unknown:
            self._refuse(unknown.partition("=")[0])
        if not words and not wanted.startswith("["):
            raise PrepError(f"prep {self._name}: missing {wanted}")
        if len(words) > 1 and not several and not wanted.endswith("..."):
            raise PrepError(f"{'--data' if self._applies else f'prep {self._name}'}: expected one {wanted}, got {len(words)}")
        return [pathlib.Path(os.path.expanduser(word)) for word in words]

    def _refuse(self, option: str) -> NoReturn:
        forms = forms_of(option.lstrip("-"))
        if forms:
            raise PrepError(f"{self._name}: {option} is an option of {joined(forms)}")
        if self._by_with:
            key = option.lstrip("-")
            raise PrepError(f"unknown key `{key}`, {suggestion(key, [each.lstrip('-') for each in self._keys])}")
        raise PrepError(f"{self._name}: unknown option `{option}`, {suggestion(option, [*_ALWAYS, *self._keys])}")


def asks_for_help(words: Sequence[str]) -> bool:
    return bool({"-h", "--help"} & {*cut_words(words)[0]})


def cut_words(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Cuts words at `--`: those behind it are no options."""
    place = words.index("--") if "--" in words else len(words)
    return list(words[:place]), list(words[place + 1:])
