"""The words of `skyline import` as the program hands them over, and the file that it gets."""

from __future__ import annotations

import argparse
import pathlib
from collections.abc import Sequence

from .._errors import Error
from ..prep.errors import PrepError
from . import archai, nni
from .source import Node, read_tree


def imported_lines(system: str, words: Sequence[str]) -> list[str]:
    """Writes the configuration, and returns the lines for the person. Raises PrepError."""
    parser = argparse.ArgumentParser(prog=f"skyline import {system}", allow_abbrev=False)
    parser.add_argument("--out", required=True, help="name of the configuration")
    parser.add_argument("--write-to", type=pathlib.Path, required=True, help="file that gets it, in place of --out")
    parser.add_argument("--tree", type=pathlib.Path, help="what the program has read of the source that is no Python")
    parser.add_argument("--count", type=int, required=True, help="values of a parameter that was continuous")
    parser.add_argument("sources", type=pathlib.Path, nargs="+")
    told = parser.parse_args(words)
    try:
        text, lines = _made(system, told)
    except Error as problem:  # a value that no configuration has
        raise PrepError(f"{told.sources[0]}: {problem}") from problem
    told.write_to.write_text(text, encoding="utf-8")
    return lines


def _made(system: str, told: argparse.Namespace) -> tuple[str, list[str]]:
    tree: Node | None = read_tree(told.tree) if told.tree else None
    if system == "archai":
        files = [source for source in told.sources if source.suffix == ".py"]
        if len(files) != 1 or len(told.sources) > 2:
            raise PrepError(f"import archai: expected a Python file with an ArchParamTree, and perhaps the YAML of the search, got "
                            f"{', '.join(map(str, told.sources))}")
        return archai.imported(files[0], tree, told.out)
    if tree is None or len(told.sources) != 1:
        raise PrepError(f"import nni: expected config.yml or search_space.json, got {', '.join(map(str, told.sources))}")
    return nni.imported(told.sources[0], tree, told.out, told.count)
