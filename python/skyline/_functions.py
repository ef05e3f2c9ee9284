"""How a child process finds a function of this one: by the name or the file of its module."""

from __future__ import annotations

import ast
import contextlib
import functools
import operator
import os
import pathlib
import site
import sys
import sysconfig
from collections.abc import Callable, Iterator
from types import MethodType, ModuleType
from typing import Any

from ._errors import Error
from ._files import near
from ._program import PACKAGE_ROOT

_BY_NAME = "trials run in other Pythons, which import it by name: "
_ADVICE = _BY_NAME + "write it into a file, e.g. my_trainer.py, and import it from there"


def _modules(first: str | None) -> Iterator[ModuleType]:
    """Yields the modules that a new Python can import: the one of this name first, the script that runs last.

    What the script has made is there alone: another module has it only after the script has put it there.
    """
    own, main = sys.modules.get(first or ""), sys.modules["__main__"]
    for module in [] if own is main else [own, *sys.modules.values()]:
        if isinstance(module, ModuleType) and module.__spec__ is not None and module not in (main, sys.modules.get("__mp_main__")):
            yield module
    yield main


def _is_guarded(module: ModuleType, path: str) -> bool:
    """Whether a name is that of a script which makes it below `if __name__ == "__main__":` alone, and not at an import."""
    file = getattr(module, "__file__", None)
    if module is not sys.modules["__main__"] or not file or not os.path.isfile(file):
        return False
    names = set()
    try:
        statements = ast.parse(pathlib.Path(file).read_bytes()).body
    except (SyntaxError, ValueError):  # compiled, or edited since
        return False
    for statement in statements:
        if not (isinstance(statement, ast.If) and "__name__" in ast.dump(statement.test)):
            names |= _names_in(statement)
    return not names & {path.partition(".")[0], "*"}  # `from module import *` may make any


def _names_in(statement: ast.stmt) -> set[str]:
    names = set()
    for node in ast.walk(statement):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            names.add(node.name)
        elif isinstance(node, ast.alias):
            names.add(node.asname or node.name)
    return names


def _place_of(target: Any) -> tuple[ModuleType, str] | None:
    """Returns a module, and the path by which it has an object; None if no module has it by name."""
    if isinstance(target, MethodType) and (owner := _place_of(target.__self__)):
        if getattr(target.__self__, target.__name__, None) == target:
            return owner[0], f"{owner[1]}.{target.__name__}"
    home, path = getattr(target, "__module__", None), getattr(target, "__qualname__", None)
    for module in _modules(home):
        if isinstance(path, str) and module.__name__ == home:
            with contextlib.suppress(AttributeError):  # e.g. a function within a function
                if operator.attrgetter(path)(module) is target:
                    return module, path
        for name, value in list(vars(module).items()):
            if value is target and name.isidentifier() and not _is_guarded(module, name):
                return module, name
    return None


def _refusal(function: Callable[..., Any]) -> str:
    """Returns what a function is that no module has by name, and the way out."""
    path = str(getattr(function, "__qualname__", ""))
    if isinstance(function, functools.partial):
        inner = getattr(function.func, "__name__", "function")
        what, example = f"is a functools.partial of `{inner}`", f"train = functools.partial({inner}, ...)"
    elif isinstance(function, MethodType):
        kind = type(function.__self__).__name__
        what, example = f"`{path}` is a method of an object", f"trainer = {kind}(), and give trainer.{function.__name__}"
    elif "<lambda>" in path:
        return f"is a lambda; {_ADVICE} (def train(...): ...)"
    elif "<locals>" in path:
        return f"`{path}` is defined within another function; {_ADVICE}"
    elif path:
        return f"`{path}` of {function.__module__} is another object; {_ADVICE}"
    else:
        what, example = f"is an object of the class `{type(function).__name__}`", f"trainer = {type(function).__name__}()"
    return (f"{what} that no module has by name; {_BY_NAME}make it at the top level of a file that you import, e.g. {example}. "
            "Or write a function of the parameters alone, whose module loads the rest in warm_up() (docs/python.md)")


def _script_of(main: ModuleType, function: Callable[..., Any], path: str, argument: str) -> pathlib.Path:
    """Returns the file of the script that runs."""
    code = getattr(function, "__code__", None)
    for file in (getattr(main, "__file__", None), *([code.co_filename] if code else [])):
        if not file or not os.path.isfile(file):
            raise Error(f"{argument}: `{path}` is defined in a notebook or at a prompt; {_ADVICE}. "
                        "In a notebook, begin its cell with %%writefile my_trainer.py")
    if not str(main.__file__).endswith(".py"):  # e.g. s.pyc
        raise Error(f"{argument}: `{path}` is defined in {main.__file__}, which is no .py file; {_ADVICE}")
    if _is_guarded(main, path):
        raise Error(f'{argument}: `{path}` is made below `if __name__ == "__main__":`; {_BY_NAME}make it above')
    return pathlib.Path(str(main.__file__)).resolve()


def _fresh_path() -> set[pathlib.Path]:
    """Returns the folders in which every Python of this environment finds modules, when started in this folder."""
    folders = [os.getcwd(), *os.environ.get("PYTHONPATH", "").split(os.pathsep), *site.getsitepackages(),
               site.getusersitepackages(), *(sysconfig.get_path(name) for name in ("stdlib", "platstdlib"))]
    return {pathlib.Path(folder).resolve() for folder in folders if folder}


def address_of(function: Callable[..., Any], argument: str = "train") -> tuple[str, list[str]]:
    """Returns the address of a function, and the folders that a new Python needs in PYTHONPATH to find it and this package.

    The address is `package.module:function`, or `folder/script.py:function` for one of the script that runs. It may as well be
    a path to any object, such as `package.module:object.method`. Raises Error, which names the argument, for what no module has
    by name, and for a cell of a notebook.
    """
    place = _place_of(function)
    if place is None:
        raise Error(f"{argument}: {_refusal(function)}")
    module, path = place
    name, needed = module.__name__, [PACKAGE_ROOT]
    if name == "__main__":
        file = _script_of(module, function, path, argument)
        if module.__spec__ is None:
            return f"{near(file)}:{path}", _unknown(needed)
        name = module.__spec__.name  # started by python -m
    spec = module.__spec__
    if spec is not None and spec.origin and os.path.isfile(spec.origin):
        root = pathlib.Path(spec.origin).resolve().parents[name.count(".") + (spec.submodule_search_locations is not None)]
        needed.append(root)
    return f"{name}:{path}", _unknown(needed)


def _unknown(folders: list[pathlib.Path]) -> list[str]:
    known = _fresh_path()
    return [near(folder) for folder in dict.fromkeys(folders) if folder not in known]
