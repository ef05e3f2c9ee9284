"""The files of a run, as they are while a job writes them."""

from __future__ import annotations

import json
import math
import pathlib
from collections.abc import Mapping
from typing import Any

from ._errors import Error

_JOURNALS = (8, 9)  # versions
_TAIL_BYTES = 4096
_OWN_COLUMNS = {"trial", "phase", "status", "reason", "epochs", "repeat", "final_repeat", "origin", "iteration",
                "parents", "arch_id", "seed", "rank", "slot", "started_s", "duration_s"}


def read_json(file: pathlib.Path) -> dict[str, Any]:
    """Returns a file that is published whole; nothing where there is none yet. Raises Error if it is damaged."""
    if not file.is_file():  # nor a pipe, on which a reader would wait
        return {}
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except ValueError as problem:
        raise Error(f"{file}: is no JSON: {problem}") from problem
    return found if isinstance(found, dict) else {}


def _journal(folder: pathlib.Path) -> list[dict[str, Any]]:
    """Returns the header and the trials of the journal. A last line that is not whole is still being written."""
    file = folder / "journal.jsonl"
    try:
        lines = file.read_bytes().split(b"\n")
    except OSError as problem:
        raise Error(f"{folder}: holds no run: {problem.strerror}: {file}") from problem
    entries = []
    for number, line in enumerate(lines[:-1], 1):
        try:
            entries.append(json.loads(line))
        except ValueError as problem:
            if number == len(lines) - 1:
                break  # a killed job left it
            raise Error(f"{file}:{number}: is damaged (`skyline journal {folder}` says more)") from problem
    if entries and (entries[0].get("format") != "skyline-journal" or entries[0].get("version") not in _JOURNALS):
        raise Error(f"{file}: is no journal of a version that this package reads ({', '.join(map(str, _JOURNALS))})")
    return entries


def _row(entry: Mapping[str, Any], costs: Mapping[str, Any]) -> dict[str, Any]:
    where = entry.get("where", {})
    times = [value for name, value in where.items() if name.endswith("_s") and name != "started_s"]
    row = {"trial": entry["k"], "phase": entry["phase"], "status": entry["status"], "reason": entry.get("reason")}
    for name, value in entry["genotype"].items():
        row[f"parameter_{name}" if name in _OWN_COLUMNS else name] = value
    for name, value in entry.get("metrics", {}).items():
        row[f"metric_{name}" if name in _OWN_COLUMNS or name in row else name] = float(value)  # infinities are texts
    for name, value in (costs.get(entry["arch"]) or {}).items():
        row.setdefault(name, math.nan if value is None else value)
    return {**row, "epochs": entry["epochs"], "repeat": entry.get("repeat", 0),
            "final_repeat": entry.get("final_repeat", 0), "origin": entry["origin"],
            "iteration": entry["iteration"], "parents": entry["parents"], "arch_id": entry["arch"], "seed": int(entry["seed"]),
            "rank": where.get("rank"), "slot": where.get("slot"), "started_s": where.get("started_s"), "duration_s": sum(times)}


def log_of(folder: pathlib.Path, trial: int | str) -> pathlib.Path | None:
    """Returns the newest log of a trial's own program, e.g. of `17` or `17.final`."""
    final = str(trial).endswith(".final")
    logs = [file for file in (folder / "logs/trials").glob(f"{trial}.*log") if final or file.name.split(".")[1] != "final"]
    return max(logs, key=lambda file: file.stat().st_mtime, default=None)


def _last_words(folder: pathlib.Path) -> dict[str, str]:
    """Returns the last lines that failed trainers printed, e.g. their exceptions, by the names of their trials."""
    words = {}
    for log in sorted((folder / "logs/trials").glob("*.failed*.log"), key=lambda file: file.stat().st_mtime):
        with log.open("rb") as file:
            file.seek(max(0, log.stat().st_size - _TAIL_BYTES))
            lines = file.read().decode(errors="replace").split("\n")
        words[log.name.split(".failed")[0]] = next((line.strip() for line in reversed(lines) if line.strip()), "")
    return words


def trial_rows(folder: pathlib.Path) -> list[dict[str, Any]]:
    """Returns the committed trials in the order of the journal, each with its columns by name.

    The reason of a trainer that failed by itself has the last line that it printed. Costs of networks are those that
    `models.json` has, which a job writes every few minutes.
    """
    costs = {trial["arch_id"]: trial.get("costs") for trial in read_json(folder / "models.json").get("trials", [])}
    trials = [entry for entry in _journal(folder)[1:] if "k" in entry]  # without lines of lost ranks
    failed = [entry for entry in trials if entry["status"] == "program"]
    words = _last_words(folder) if failed else {}
    for entry in failed:
        name = f"{entry['k']}.final" if entry["phase"] == "final" else str(entry["k"])
        said = words.get(f"{name}.{entry['final_repeat']}" if entry.get("final_repeat") else name)
        entry["reason"] += f": {said}" if said else ""
    return [_row(entry, costs) for entry in trials]


Training = tuple[int, str, float, int, int]


def training_of(row: Mapping[str, Any]) -> Training:
    """Returns what tells a training from all others: number, phase, budget, repeats. `row` is one of ours or of a front.

    Of a full training that was repeated, a front has the first, whose weights are kept.
    """
    return row["trial"], row["phase"], row["epochs"], row.get("repeat", 0), row.get("final_repeat", 0)


def front_of(pareto: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Returns the members of a front, best first: of the final front, else of the search's."""
    return pareto.get("final_front") or pareto.get("search_front") or []


def with_means(row: Mapping[str, Any], member: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the row of a front's member with the means of its repeats, and `METRIC_deviation` beside each."""
    row = dict(row)
    for metric, spread in (member.get("repeats") or {}).get("metrics", {}).items():
        column = f"metric_{metric}" if f"metric_{metric}" in row else metric
        row[column] = spread["mean"]
        row[f"{column}_deviation"] = spread["deviation"]
    return row
