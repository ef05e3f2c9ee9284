"""What a search says while somebody waits for it: its lines, and how far it is in a line that is drawn again."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Mapping, Sequence
from typing import Any


def _duration(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def progress_text(status: Mapping[str, Any]) -> str:
    """Returns how far a run is, from its status."""
    parts = [f"{status.get('phase', 'search')} {status.get('done', 0)}/{status.get('expected', '?')} trials"]
    parts += [f"{status[state]} {state}" for state in ("failed", "pruned", "outside") if status.get(state)]
    parts.append(f"front {status.get('front', 0)}")
    parts += [f"best {name} {value:.4g}" for name, value in (status.get("best") or {}).items() if value is not None]
    parts.append(f"{_duration(status.get('elapsed_s') or 0)} elapsed")
    if status.get("eta_s") is not None:
        parts.append(f"ETA {_duration(status['eta_s'])}")
    return ("stopping: " if status.get("state") == "stopping" else "") + " · ".join(parts)


class Progress:
    """Writes to standard output. A line that is drawn again appears on terminals and in notebooks alone."""

    def __init__(self, quiet: bool) -> None:
        self._quiet = quiet
        self._draws = not quiet and (sys.stdout.isatty() or "ipykernel" in sys.modules)
        self._drawn = ""  # text on the screen

    def draw(self, status: Mapping[str, Any]) -> None:
        if not self._draws or not status:
            return
        text = progress_text(status)[:shutil.get_terminal_size().columns - 1]
        if text != self._drawn:
            sys.stdout.write("\r" + text.ljust(len(self._drawn)))
            sys.stdout.flush()
            self._drawn = text

    def say(self, lines: Sequence[str]) -> None:
        """Writes lines above the one that is drawn again."""
        if lines and not self._quiet:
            self.clear()
            print("\n".join(lines), flush=True)

    def clear(self) -> None:
        if self._drawn:
            sys.stdout.write("\r" + " " * len(self._drawn) + "\r")
            sys.stdout.flush()
            self._drawn = ""
