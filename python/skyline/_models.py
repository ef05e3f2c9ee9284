"""Trained networks as modules of torch."""

from __future__ import annotations

import atexit
import importlib.util
import itertools
import os
import pathlib
import shutil
import sys
import tempfile
from typing import TYPE_CHECKING, Any

from ._errors import Error
from ._files import absolute, near
from ._program import find_program, output_of

if TYPE_CHECKING:
    from torch.nn import Module

_numbers = itertools.count()


def load_model(path: str | os.PathLike[str], trial: int, *, weights: str | None = None,
               program: str | os.PathLike[str] | None = None, trust_code: bool = False) -> Module:
    """Returns the network of a trial of the run in folder `path`, with its trained weights, for evaluation.

    It takes float32 [batch, channels, height, width], as the data set stores its samples: pixels from 0 to 255, not
    normalized. It returns [batch, classes]: logits, or numbers in the units of the data. `weights` is `search`, `final` or
    `refit`: of which training; without it the last of them that there was.

    The program writes the network as code of Python, from the run's files; no code that lies in the run's folder is run. Where
    the program is not found, `trust_code=True` runs what `skyline export --format pytorch` wrote to the run's folder `exports`:
    do so only where you trust everybody who can write there.

    Raises Error with the program's line if the run kept no weights of the trial, ImportError without torch.
    """
    run = absolute(path)
    try:
        found = find_program(program)
    except Error as problem:
        place = run / "exports"
        code = place / f"trial_{trial}.py"
        if weights or not code.is_file():
            raise
        if not trust_code:
            raise Error(f"{problem}; without it {near(code)} would be run, which may do anything: "
                        "trust_code=True allows it") from None
    else:
        place = pathlib.Path(tempfile.mkdtemp(prefix="skyline-model-"))  # folder that only this user can read
        atexit.register(shutil.rmtree, place, ignore_errors=True)  # torch reads the source again when it compiles the module
        output_of(found, "export", str(run), "--trial", str(trial), "--format", "pytorch", "-o", str(place),
                  *(["--weights", weights] if weights else []))
    spec = importlib.util.spec_from_file_location(f"skyline_trial_{trial}_{next(_numbers)}", place / f"trial_{trial}.py")
    if spec is None or spec.loader is None:
        raise Error(f"{place}: has no module of trial {trial}")
    module: Any = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    network: Module = module.load().eval()
    return network
