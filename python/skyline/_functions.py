"""How a child process finds a function of this one: by the name or the file of its module."""

from __future__ import annotations

import importlib.util
import os
import pathlib
import site
import sys
import sysconfig
from collections.abc import Callable
from types import ModuleType
from typing import Any

from ._errors import Error
from ._program import PACKAGE_ROOT

_ADVICE = ("trials run in other Pythons, which import it by name: "
           "write it into a file, e.g. my_trainer.py, and import it from there")


def _near(path: pathlib.Path) -> str:
    """Returns a path as the search's folder sees it: relative where it is below that folder."""
    here = pathlib.Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)


def _module_of(function: Callable[..., Any]) -> ModuleType:
    name = getattr(function, "__qualname__", None)
    module = sys.modules.get(getattr(function, "__module__", None) or "")
    if not callable(function) or name is None or module is None:
        raise Error(f"train: expected a function, got {function!r}; {_ADVICE}")
    if "<lambda>" in name:
        raise Error(f"train: is a lambda; {_ADVICE} (def train(...): ...)")
    if "<locals>" in name:
        raise Error(f"train: `{name}` is defined within another function; {_ADVICE}")
    found: Any = module
    for part in name.split("."):
        found = getattr(found, part, None)
    if found is not function:
        raise Error(f"train: `{name}` of {module.__name__} is another object; {_ADVICE}")
    return module


def _script_of(main: ModuleType, function: Callable[..., Any]) -> pathlib.Path:
    """Returns the file of the script that runs."""
    code = getattr(function, "__code__", None)
    for file in (getattr(main, "__file__", None), code.co_filename if code else ""):
        if not file or not os.path.isfile(file):
            raise Error(f"train: `{function.__qualname__}` is defined in a notebook or at a prompt; {_ADVICE}. "
                        "In a notebook, begin its cell with %%writefile my_trainer.py")
    return pathlib.Path(str(main.__file__)).resolve()


def _fresh_path() -> set[pathlib.Path]:
    """Returns the folders in which every Python of this environment finds modules, when started in this folder."""
    folders = [os.getcwd(), *os.environ.get("PYTHONPATH", "").split(os.pathsep), *site.getsitepackages(),
               site.getusersitepackages(), *(sysconfig.get_path(name) for name in ("stdlib", "platstdlib"))]
    return {pathlib.Path(folder).resolve() for folder in folders if folder}


def address_of(function: Callable[..., Any]) -> tuple[str, list[str]]:
    """Returns the address of a function, and the folders that a new Python needs in PYTHONPATH to find it and this package.

    The address is `package.module:function`, or `folder/script.py:function` for one of the script that runs. Raises Error
    for what has none: a lambda, a nested function, a cell of a notebook, an object.
    """
    module = _module_of(function)
    name, needed = module.__name__, [PACKAGE_ROOT]
    if name == "__main__":
        if module.__spec__ is None:
            file = _script_of(module, function)
            return f"{_near(file)}:{function.__qualname__}", _unknown(needed)
        name = module.__spec__.name  # started by python -m
    spec = module.__spec__ or importlib.util.find_spec(name)
    if spec is not None and spec.origin and os.path.isfile(spec.origin):
        root = pathlib.Path(spec.origin).resolve().parents[name.count(".") + (spec.submodule_search_locations is not None)]
        needed.append(root)
    return f"{name}:{function.__qualname__}", _unknown(needed)


def _unknown(folders: list[pathlib.Path]) -> list[str]:
    known = _fresh_path()
    return [_near(folder) for folder in dict.fromkeys(folders) if folder not in known]
