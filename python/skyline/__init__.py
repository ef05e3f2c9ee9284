"""Skyline from Python: start searches, write trainers, read runs.

The package needs the standard library alone. pandas, matplotlib, NumPy, Pillow, Optuna and torch are imported by the functions that
take or return their objects. The program `skyline` does the work, as a child process: MPI never runs inside the interpreter.
"""

from ._errors import Error
from ._models import load_model
from ._prepare import prepare
from ._program import find_program
from ._run import Run, open_run
from ._sampler import Sampler, optuna_sampler
from ._search import search
from . import _space
from ._trial import Trial, trial

range = _space.range  # not in __all__: a star import would hide Python's own

__all__ = ["Error", "Run", "Sampler", "Trial", "find_program", "load_model", "open_run", "optuna_sampler", "prepare", "search", "trial"]
