"""A configuration as YAML that people read: sections in blocks, values in the form of JSON."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Mapping, Sequence
from typing import Any

from ._errors import Error

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
_PAIR = re.compile(r"\\ud[89ab][0-9a-f]{2}\\ud[c-f][0-9a-f]{2}")  # two escapes of one character, which has no escape in YAML
_WORDS_OF_YAML = {"true", "false", "yes", "no", "on", "off", "null", "y", "n", "nan", "inf"}
_WIDTH = 110
# Beginnings of paths in the configuration that is written, and the arguments that they come from.
_ARGUMENTS = ((r"space\.parameters\.(\w+)\.(?:choice|range)\b", r"space: \1"), (r"space\.parameters\.", "space: "),
              (r"(?:command|computed)\.metrics\.", "metrics: "), (r"costs\.metrics\.", "costs: "), (r"command\.(?:run|python)\b", "train"))


def _word(text: str) -> str:
    if _PLAIN.fullmatch(text) and text.lower() not in _WORDS_OF_YAML and text != "None":  # a plain None would be remarked on
        return text
    return _PAIR.sub(lambda pair: str(json.loads(f'"{pair[0]}"')), json.dumps(text))


def flow(value: Any, path: str) -> str:
    """Returns a value in one line. Raises Error, with its path, for what no configuration has, such as NaN or an object."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_word(str(name))}: {flow(each, f'{path}.{name}')}" for name, each in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(flow(each, f"{path}[{place}]") for place, each in enumerate(value)) + "]"
    if isinstance(value, (str, os.PathLike)):
        return _word(os.fspath(value))
    try:
        number = value.item() if hasattr(value, "item") else value  # a number of NumPy, or a plain one
        is_open = isinstance(number, float) and math.isinf(number) and not path.startswith("space.")
        if is_open:  # a bound; the program refuses it elsewhere
            return ".inf" if number > 0 else "-.inf"
        return json.dumps(number, allow_nan=False)
    except (TypeError, ValueError, RuntimeError) as problem:
        raise Error(f"{path}: expected a number, a text, a list or a dictionary, got {value!r}") from problem


def yaml_text(sections: Mapping[str, Any], indent: str = "", path: str = "") -> str:
    """Returns the sections as lines of YAML: what fits into a line stands in one."""
    text = ""
    for name, value in sections.items():
        line = f"{indent}{_word(str(name))}: {flow(value, f'{path}{name}')}"
        if isinstance(value, Mapping) and value and (not indent or len(line) > _WIDTH):
            text += f"{indent}{_word(str(name))}:\n{yaml_text(value, indent + '  ', f'{path}{name}.')}"
        else:
            text += line + "\n"
    return text


def in_arguments(line: str, file: str, senses: Sequence[str] = ()) -> str:
    """Returns a line of the program about a file that is written from arguments, and that the user has not seen, in their words.

    senses   of skyline.search: for each objective the argument that names it
    """
    line = re.sub(f"^{re.escape(file)}:(\\d+:\\d+: )?", "", line)
    objective = re.match(r"objectives\[(\d+)\](?:\.(?:maximize|minimize)\b)?", line)
    if objective and int(objective[1]) < len(senses):
        return senses[int(objective[1])] + line[objective.end():]
    if senses and re.match(r"search\.(?:trials|algorithm)\b", line):
        return line.removeprefix("search.")
    for path, argument in _ARGUMENTS:
        named, count = re.subn(f"^{path}", argument, line)
        if count:
            return named
    return line
