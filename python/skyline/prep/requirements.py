"""What kinds of sources, and outputs of networks, need of this Python: looked for before it is imported, so that what lacks is one line."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import re
import sys

_PYTHON = (3, 10)
_OLDEST = {"numpy": "1.24", "h5py": "3.7", "pandas": "1.5", "pillow": "9.4", "onnxruntime": "1.12"}
_MODULES = {"pillow": "PIL"}  # packages whose modules have other names
_OF_KINDS = {"images": ["pillow"], "arrays": ["pandas"], "recordings": ["pandas"]}  # besides those of all kinds
_OF_ALL = ["numpy", "h5py"]
_OF_OUTPUTS = {"onnx": ["numpy", "onnxruntime"], "npy": ["numpy"]}


def missing_python() -> list[str]:
    return ["python>=" + ".".join(map(str, _PYTHON))] if sys.version_info < _PYTHON else []


def missing_packages(kind: str) -> list[str]:
    """Returns what this Python lacks for a kind, as `pip install` takes it; packages of other kinds' own are not known here."""
    return _missing([*_OF_ALL, *_OF_KINDS.get(kind, [])])


def missing_for_outputs(kind: str) -> list[str]:
    """Returns what this Python lacks to compute, or read, the outputs of a network in a file of this kind."""
    return _missing(_OF_OUTPUTS[kind])


def _missing(needed: list[str]) -> list[str]:
    return [wanted for wanted in map(_wanted, needed) if wanted]


def _wanted(package: str) -> str:
    """Returns what is to be installed of a package, or an empty text if it is there and new enough."""
    if importlib.util.find_spec(_MODULES.get(package, package)) is None:
        return package
    try:
        found = importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:  # installed in another way
        return ""
    return f"'{package}>={_OLDEST[package]}'" if _numbers(found) < _numbers(_OLDEST[package]) else ""


def _numbers(version: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", version)[:2]]
