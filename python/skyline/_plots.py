"""Plots of a run by matplotlib, which is imported here alone."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING, Any

from ._errors import Error
from ._files import read_json

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ._run import Run


def _axes(ax: Axes | None) -> Axes:
    if ax is None:
        from matplotlib import pyplot

        ax = pyplot.subplots()[1]
    return ax


def front(run: Run, x: str | None, y: str | None, ax: Axes | None) -> Axes:
    """Draws the trials that succeeded over two metrics, and the front among them."""
    objectives = read_json(run.path / "pareto.json").get("objectives", [])
    names = [each["metric"] for each in objectives]
    scales = {each["metric"]: each["scale"] for each in objectives}
    y = y or (names[0] if names else None)
    x = x or next((name for name in names if name != y), "trial")
    rows = [row for row in run.rows if _has(row, x, y)]
    best = sorted((row for row in run.front_rows if _has(row, x, y)), key=lambda row: row[x])
    if not rows or y is None:
        raise Error(f"{run.path}: no trial has both `{x}` and `{y}`")
    phase = best[0]["phase"] if best else "search"
    others = [row for row in rows if row["phase"] == phase]
    ax = _axes(ax)
    ax.scatter([row[x] for row in others], [row[y] for row in others], s=16, color="0.7", label="trials")
    ax.plot([row[x] for row in best], [row[y] for row in best], "o-", drawstyle="default", label="front")
    for row in best:
        ax.annotate(str(row["trial"]), (row[x], row[y]), textcoords="offset points", xytext=(4, 4), fontsize=8)
    if scales.get(x) == "log" and all(row[x] > 0 for row in others):
        ax.set_xscale("log")
    ax.set_xlabel(x)
    ax.set_ylabel(y)
    ax.set_title(run.path.name)
    ax.legend()
    return ax


def _has(row: dict[str, Any], x: str, y: str | None) -> bool:
    return row["status"] == "ok" and row.get(x) is not None and y is not None and row.get(y) is not None


def volume(run: Run, curve: str, ax: Axes | None) -> Axes:
    """Draws the hypervolume by trial from what `skyline compare --curves` prints."""
    points = [(int(row["trial"]), float(row["hypervolume"])) for row in csv.DictReader(io.StringIO(curve))]
    if not points:
        raise Error(f"{run.path}: has no hypervolume: give its metrics a range, or its objectives a reference and an ideal")
    ax = _axes(ax)
    ax.step(*zip(*points), where="post")
    ax.set_xlabel("trials")
    ax.set_ylabel("hypervolume of the search")
    ax.set_title(run.path.name)
    return ax
