"""The files of a run, as they are while a job writes them."""

from __future__ import annotations

import contextlib
import json
import math
import os
import pathlib
import secrets
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ._errors import Error

_JOURNALS = (8, 9)  # versions
_OWN_COLUMNS = {"trial", "phase", "status", "reason", "epochs", "repeat", "final_repeat", "origin", "iteration",
                "parents", "arch_id", "seed", "rank", "slot", "started_s", "duration_s"}


def absolute(path: str | os.PathLike[str]) -> pathlib.Path:
    """Returns a path that stays the same when the current folder changes. `~` is the home folder."""
    text = os.path.expanduser(os.fspath(path))
    if text.startswith("~"):  # the same rule as in the program
        raise Error(f"{text}: expected ~/ for the home folder, or ./~ for a file of this name")
    return pathlib.Path(text).absolute()


def near(path: pathlib.Path, folder: pathlib.Path | None = None) -> str:
    """Returns a path as one writes it in a folder, the current one unless given: relative if it is below, and like no option."""
    text = str(path)
    with contextlib.suppress(OSError, ValueError):  # the current folder is gone, or elsewhere
        text = str(path.relative_to(folder or pathlib.Path.cwd()))
    return f"./{text}" if text.startswith(("-", "~")) else text


@contextlib.contextmanager
def folders_for(file: pathlib.Path) -> Iterator[None]:
    """Makes the folders that a file needs. If what then happens fails, those that are still empty are removed."""
    made = [folder for folder in file.parents if not folder.exists()]
    file.parent.mkdir(parents=True, exist_ok=True)
    try:
        yield
    except BaseException:
        with contextlib.suppress(OSError):
            for folder in made:
                folder.rmdir()
        raise


def publish(file: pathlib.Path, content: bytes) -> None:
    """Writes a file whole, on the disk, or leaves it as it was, e.g. on a full disk."""
    new = file.with_name(f".{file.name}.{secrets.token_hex(8)}")  # nobody can have put a link there
    stream = open(new, "xb")
    try:
        with stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(new, file)
    except BaseException:
        new.unlink(missing_ok=True)
        raise


def read_json(file: pathlib.Path) -> dict[str, Any]:
    """Returns a file that is published whole; nothing where there is none yet. Raises Error if it is damaged."""
    if not file.is_file():  # nor a pipe, on which a reader would wait
        return {}
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except ValueError as problem:
        raise Error(f"{near(file)}: is no JSON: {problem}") from problem
    return found if isinstance(found, dict) else {}


def _journal(folder: pathlib.Path) -> list[dict[str, Any]]:
    """Returns the header and the trials of the journal. A last line that is not whole is still being written."""
    file = folder / "journal.jsonl"
    try:
        lines = file.read_bytes().split(b"\n")
    except OSError as problem:
        raise Error(f"{near(folder)}: holds no run: {problem.strerror}: {near(file)}") from problem
    entries = []
    for number, line in enumerate(lines[:-1], 1):
        try:
            entries.append(json.loads(line))
        except ValueError as problem:
            if number == len(lines) - 1:
                break  # a killed job left it
            raise Error(f"{near(file)}:{number}: is damaged (`skyline journal {near(folder)}` says more)") from problem
    if entries and (entries[0].get("format") != "skyline-journal" or entries[0].get("version") not in _JOURNALS):
        raise Error(f"{near(file)}: is no journal of a version that this package reads ({', '.join(map(str, _JOURNALS))})")
    return entries


def _row(entry: Mapping[str, Any], metrics: Sequence[str], costs: Mapping[str, Any]) -> dict[str, Any]:
    where = entry.get("where", {})
    times = [value for name, value in where.items() if name.endswith("_s") and name != "started_s"]
    row = {"trial": entry["k"], "phase": entry["phase"], "status": entry["status"], "reason": entry.get("reason")}
    for name, value in entry["genotype"].items():
        row[f"parameter_{name}" if name in _OWN_COLUMNS else name] = value
    for name, value in {**dict.fromkeys(metrics), **entry.get("metrics", {})}.items():
        column = f"metric_{name}" if name in _OWN_COLUMNS or name in row else name
        row[column] = None if value is None else float(value)  # infinities are texts
    for name, value in (costs.get(entry["arch"]) or {}).items():
        row.setdefault(name, math.nan if value is None else value)
    return {**row, "epochs": entry["epochs"], "repeat": entry.get("repeat", 0),
            "final_repeat": _final_repeat(entry), "origin": entry["origin"],
            "iteration": entry["iteration"], "parents": entry["parents"], "arch_id": entry["arch"], "seed": int(entry["seed"]),
            "rank": where.get("rank"), "slot": where.get("slot"), "started_s": where.get("started_s"), "duration_s": sum(times)}


def _final_repeat(entry: Mapping[str, Any]) -> int:
    """Returns the number of a repeat of a full training; -1 of a refit. `entry` is a line of the journal, or a row of ours."""
    return -1 if entry.get("refit") is True else int(entry.get("final_repeat", 0))


def log_of(folder: pathlib.Path, trial: int | str) -> pathlib.Path | None:
    """Returns the newest log of a trial's own program, e.g. of `17` or `17.final`."""
    final = str(trial).endswith(".final")
    logs = [file for file in (folder / "logs/trials").glob(f"{trial}.*log") if final or file.name.split(".")[1] != "final"]
    return max(logs, key=lambda file: file.stat().st_mtime, default=None)


def folder_of(folder: pathlib.Path, trial: int | str) -> pathlib.Path | None:
    """Returns the folder that a trial's own program has left, e.g. of `17` or `17.final`. It is whole once `done` names it."""
    place = folder / "trials" / str(trial)
    try:
        left = place / (place / "done").read_text(encoding="utf-8")
    except OSError:
        return None
    return left if left.is_dir() else None


def trial_rows(folder: pathlib.Path) -> list[dict[str, Any]]:
    """Returns the committed trials in the order of the journal, each with the same columns by name; None where it has no value.

    Costs of networks are those that `models.json` has, which a job writes every few minutes.
    """
    costs = {trial["arch_id"]: trial.get("costs") for trial in read_json(folder / "models.json").get("trials", [])}
    header, *entries = _journal(folder) or [{}]
    metrics = [metric["name"] if isinstance(metric, dict) else metric for metric in header.get("metrics", [])]
    trials = [entry for entry in entries if "k" in entry]  # without lines of lost ranks
    return _alike([_row(entry, metrics, costs) for entry in trials])  # costs come later than a trial


def _alike(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Returns rows with the columns of the fullest one: None where one has no value."""
    fullest = max(rows, key=len, default={})
    return [row if len(row) == len(fullest) else {name: row.get(name) for name in fullest} for row in rows]


Training = tuple[int, str, float, int, int]


def training_of(row: Mapping[str, Any]) -> Training:
    """Returns what tells a training from all others: number, phase, budget, repeats. `row` is one of ours or of a front.

    Of a full training that was repeated, a front has the first, whose weights are kept.
    """
    return row["trial"], row["phase"], row["epochs"], row.get("repeat", 0), _final_repeat(row)


def front_of(pareto: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Returns the members of a front, best first: of the final front, else of the search's."""
    return pareto.get("final_front") or pareto.get("search_front") or []


def front_rows(rows: Sequence[Mapping[str, Any]], pareto: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Returns the rows of the members of a front, best first."""
    by_training = {training_of(row): row for row in rows}
    members = [(training_of(member), member) for member in front_of(pareto)]
    return _alike([_front_row(by_training[training], member) for training, member in members if training in by_training])


def _front_row(row: Mapping[str, Any], member: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the row of a front's member: its number, parameters, metrics and costs before all others.

    Where it was repeated it has the means, and `METRIC_deviation` beside each.
    """
    spreads = {f"metric_{metric}" if f"metric_{metric}" in row else metric: spread
               for metric, spread in (member.get("repeats") or {}).get("metrics", {}).items()}
    found = {"trial": row["trial"]}
    for name, value in row.items():
        if name in _OWN_COLUMNS:
            continue
        found[name] = value
        if name in spreads:
            found.update({name: spreads[name]["mean"], f"{name}_deviation": spreads[name]["deviation"]})
    return {**found, **{name: value for name, value in row.items() if name in _OWN_COLUMNS}}
