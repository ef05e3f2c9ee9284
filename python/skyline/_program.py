"""The program: where it is, its environment, and what it says."""

from __future__ import annotations

import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence

from . import _wheel
from ._errors import Error

PACKAGE_ROOT = pathlib.Path(__file__).resolve().parents[1]
_PLACES = (PACKAGE_ROOT / "../../../bin/skyline",  # place in an installed tree, with the package in share/skyline/python
           PACKAGE_ROOT / "../build/release/bin/skyline")  # place in the source tree
_SET_BY_LAUNCHERS = ("OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK")
_OF_LAUNCHERS = ("OMPI_", "OPAL_", "ORTE_", "PMIX_", "PRTE_", "PMI_")
_SIGNALS = 128  # and more are exit codes of programs that a signal has ended
RULE = re.compile(r"-{70,}")  # around what mpirun itself says


def find_program(program: str | os.PathLike[str] | None = None) -> str:
    """Returns the path of the program `skyline`.

    It is `program`; else what the environment variable SKYLINE names; else that of the wheel that this package came in; else
    in PATH; else in the tree that this package was installed with; else in `build/release/bin` of the source tree. Raises
    Error if it is in none of these places, or if the wheel's lacks a library.
    """
    for source, named in (("program", program), ("SKYLINE", os.environ.get("SKYLINE"))):
        if named:
            found = shutil.which(os.path.expanduser(named))
            if not found:
                raise Error(f"{source}: {os.fspath(named)} is no program that can be started")
            return os.path.abspath(found)
    if _wheel.PROGRAM.exists():
        _wheel.check()
        return str(_wheel.PROGRAM)
    found = shutil.which("skyline")
    for place in [found, *_PLACES]:
        if place and os.access(place, os.X_OK):
            return os.path.abspath(place)
    raise Error("the program `skyline` is not found: put it into PATH, or name it in the environment variable SKYLINE")


def child_environment() -> dict[str, str]:
    """Returns the environment for the program and mpirun.

    Where this process was itself started by an MPI launcher, the variables of that launcher are left out: with them a child
    takes itself for a rank of this job. As root, mpirun is told that this is meant. Outside of batch systems it may start
    more ranks than there are cores. This Python prepares data if it has what that needs, unless SKYLINE_PYTHON names another one.
    """
    variables = dict(os.environ)
    variables["SKYLINE_CALLING_PYTHON"] = sys.executable  # the program chooses (src/app/prep)
    if any(name in variables for name in _SET_BY_LAUNCHERS):
        variables = {name: value for name, value in variables.items() if not name.startswith(_OF_LAUNCHERS)}
    if os.geteuid() == 0:
        variables.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    if "SLURM_JOB_ID" not in variables:
        variables.setdefault("OMPI_MCA_rmaps_base_oversubscribe", "1")
        variables.setdefault("PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe")
    return variables


def launch_command(program: str, ranks: int) -> list[str]:
    """Returns the words that start the program on so many ranks: the program alone for one. Raises Error without mpirun."""
    if ranks < 1:
        raise Error(f"ranks: expected a whole number of at least 1, got {ranks}")
    if ranks == 1:
        return [program]
    named = os.environ.get("MPIEXEC", "mpirun")
    launcher = shutil.which(named)
    if not launcher:
        raise Error(f"ranks: {ranks} ranks need the launcher `{named}` of Open MPI, which is not in PATH")
    return [launcher, "-np", str(ranks), program]


def error_of(lines: Sequence[str], exit_code: int) -> Error:
    """Returns the program's own lines of what was wrong; without any, the signal, or the first line that there is."""
    own = [line.strip().removeprefix("skyline: ") for line in lines if line.strip().startswith("skyline: ")]
    own = [line for line in own if not line.startswith("done: ")]
    others = [line.strip() for line in lines if line.strip() and not RULE.fullmatch(line.strip())]
    if exit_code > _SIGNALS:
        others = [f"skyline was ended by signal {exit_code - _SIGNALS} ({signal.strsignal(exit_code - _SIGNALS)})"]
    others.append(f"skyline ended with exit code {exit_code}")
    return Error("\n".join(dict.fromkeys(own)) or others[0], exit_code)


def output_of(program: str, *arguments: str) -> str:
    """Returns what the program prints. Raises Error with its own line if its exit code is not 0."""
    done = subprocess.run([program, *arguments], capture_output=True, text=True, errors="replace", stdin=subprocess.DEVNULL,
                          env=child_environment())
    if done.returncode != 0:
        raise error_of(done.stderr.splitlines(), done.returncode)
    return done.stdout
