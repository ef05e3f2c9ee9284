"""Plots of a run by matplotlib, which is imported here alone."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING, Any

from ._errors import Error
from ._files import near, read_json

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
    objectives = {each["metric"]: each for each in read_json(run.path / "pareto.json").get("objectives", [])}
    names = list(objectives)
    y = y or (names[0] if names else None)
    x = x or next((name for name in names if name != y), "trial")
    rows = [row for row in run.rows if _has(row, x, y)]
    best = [row for row in run.front_rows if _has(row, x, y)]
    if not rows or y is None:
        raise Error(f"{near(run.path)}: no trial has both `{x}` and `{y}`")
    phase = best[0]["phase"] if best else "search"
    others = [row for row in rows if row["phase"] == phase]
    ax = _axes(ax)
    ax.scatter([row[x] for row in others], [row[y] for row in others], s=16, color="0.7", label="trials")
    members = ax.plot([row[x] for row in best], [row[y] for row in best], "o", label="front")[0]
    if x in objectives and y in objectives:
        ax.plot(*_steps([(row[x], row[y]) for row in best], *(objectives[name]["sense"] == "minimize" for name in (x, y))),
                color=members.get_color())
    for row in best:
        ax.annotate(str(row["trial"]), (row[x], row[y]), textcoords="offset points", xytext=(4, 4), fontsize=8)
    if objectives.get(x, {}).get("scale") == "log" and all(row[x] > 0 for row in others):
        ax.set_xscale("log")
    ax.set_xlabel(x)
    ax.set_ylabel(y)
    ax.set_title(run.path.name)
    ax.legend()
    return ax


def _steps(points: list[tuple[float, float]], x_is_minimized: bool, y_is_minimized: bool) -> tuple[list[float], list[float]]:
    """Returns the corners of the line that parts what the points dominate: of two neighbours each the worse value."""
    xs: list[float] = []
    ys: list[float] = []
    x_sign, y_sign = 1 if x_is_minimized else -1, 1 if y_is_minimized else -1
    for x, y in sorted(points, key=lambda point: (x_sign * point[0], y_sign * point[1])):
        if ys and y_sign * y >= y_sign * ys[-1]:
            continue  # a point of a front of more objectives than these two
        xs += [x, x] if ys else [x]
        ys += [ys[-1], y] if ys else [y]
    return xs, ys


def _has(row: dict[str, Any], x: str, y: str | None) -> bool:
    return row["status"] == "ok" and row.get(x) is not None and y is not None and row.get(y) is not None


def volume(run: Run, curve: str, ax: Axes | None) -> Axes:
    """Draws the hypervolume by trial from what `skyline compare --curves` prints."""
    rows = list(csv.DictReader(io.StringIO(curve)))
    if not rows:
        raise Error(f"{near(run.path)}: has no hypervolume: give its metrics a range, or its objectives a reference and an ideal")
    ax = _axes(ax)
    ax.step([int(row["trial"]) for row in rows], [float(row["hypervolume"]) for row in rows], where="post")
    ax.set_xlabel("trials")
    seen = rows[0]["seen"]
    ax.set_ylabel("hypervolume of the search" + (f"\nbetween the values seen of {seen}" if seen else ""))
    ax.set_title(run.path.name)
    return ax
