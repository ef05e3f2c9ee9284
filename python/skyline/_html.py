"""A run as a small table for notebooks."""

from __future__ import annotations

import html
import pathlib
from collections.abc import Mapping, Sequence
from typing import Any

from ._progress import progress_text

_MOST_ROWS = 20
_LEFT_OUT = {"phase", "status", "reason", "origin", "iteration", "parents", "arch_id", "seed", "rank", "slot", "started_s",
             "repeat"}


def _text(value: Any) -> str:
    return html.escape(f"{value:.4g}" if isinstance(value, float) else str(value))


def run_html(path: pathlib.Path, status: Mapping[str, Any], front: Sequence[Mapping[str, Any]]) -> str:
    """Returns the state of a run, and its front with at most 20 rows."""
    state = f"{status.get('state', 'not started')}: {progress_text(status)}" if status else "not started"
    title = f"<b>{html.escape(str(path))}</b> {html.escape(state)}"
    if not front:
        return f"<div>{title}</div>"
    names = [name for name in dict.fromkeys(name for row in front for name in row) if name not in _LEFT_OUT]
    head = "".join(f"<th>{html.escape(name)}</th>" for name in names)
    cells = ("".join(f"<td>{_text(row.get(name, ''))}</td>" for name in names) for row in front[:_MOST_ROWS])
    rows = "".join(f"<tr>{each}</tr>" for each in cells)
    more = f"<div>and {len(front) - _MOST_ROWS} more</div>" if len(front) > _MOST_ROWS else ""
    return f"<div>{title}</div><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>{more}"
