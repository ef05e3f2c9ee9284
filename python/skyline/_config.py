"""A configuration as YAML that people read: sections in blocks, values in the form of JSON."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from typing import Any

from ._errors import Error

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
_PAIR = re.compile(r"\\ud[89ab][0-9a-f]{2}\\ud[c-f][0-9a-f]{2}")  # of one character, which YAML has no escape for
_WORDS_OF_YAML = {"true", "false", "yes", "no", "on", "off", "null", "y", "n", "nan", "inf"}
_WIDTH = 110


def _word(text: str) -> str:
    if _PLAIN.fullmatch(text) and text.lower() not in _WORDS_OF_YAML:
        return text
    return _PAIR.sub(lambda pair: str(json.loads(f'"{pair[0]}"')), json.dumps(text))


def flow(value: Any) -> str:
    """Returns a value in one line. Raises Error for what no configuration has, such as NaN or an object."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_word(str(name))}: {flow(each)}" for name, each in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(flow(each) for each in value) + "]"
    if isinstance(value, (str, os.PathLike)):
        return _word(os.fspath(value))
    if hasattr(value, "item"):  # a number of NumPy
        value = value.item()
    try:
        return json.dumps(value, allow_nan=False)
    except (TypeError, ValueError) as problem:
        raise Error(f"expected a number, a text, a list or a dictionary, got {value!r}") from problem


def yaml_text(sections: Mapping[str, Any], indent: str = "") -> str:
    """Returns the sections as lines of YAML: what fits into a line stands in one."""
    text = ""
    for name, value in sections.items():
        line = f"{indent}{_word(str(name))}: {flow(value)}"
        if isinstance(value, Mapping) and value and (not indent or len(line) > _WIDTH):
            text += f"{indent}{_word(str(name))}:\n{yaml_text(value, indent + '  ')}"
        else:
            text += line + "\n"
    return text
