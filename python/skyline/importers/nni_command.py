"""NNI's trial command as an argument vector. No shell reads it, so what needs one is refused."""

from __future__ import annotations

import os
import pathlib
import re
import shlex
import shutil

from ..prep.wording import in_quotes
from .source import Node

# The parts of a command from left to right: quoted by a backslash or by `'`, quoted by `"`, or syntax of a shell.
_PART = re.compile(r"""\\.|'[^']*'|"(?P<quoted>(?:\\.|[^"\\])*)"|(?P<syntax>&&|\|\||[;&|<>()*?\n$`]|(?<!\S)[~#])""", re.DOTALL)
_PART_OF_QUOTED = re.compile(r"\\.|(?P<syntax>[$`])", re.DOTALL)
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)=(.*)", re.ASCII | re.DOTALL)
_PYTHON = re.compile(r"python[\d.]*")
_FLAGS = {"-u", "-O", "-OO", "-B", "-s"}  # options of Python without a value


def _shell_syntax(text: str) -> str | None:
    """Returns the first part of a command that only a shell understands."""
    for part in _PART.finditer(text):
        inner = (each["syntax"] for each in _PART_OF_QUOTED.finditer(part["quoted"] or ""))
        found = part["syntax"] or next(filter(None, inner), None)
        if found:
            return found
    return None


def _words(command: Node) -> list[str]:
    """Returns the words of the command, of which a shell would make no other ones."""
    text = command.text("a command").strip()
    found = _shell_syntax(text)
    if found:
        command.refuse(f"{in_quotes(found)} needs a shell, and none is started: expected a Python script with its arguments, "
                       "such as python3 trial.py --epochs 3 (variables stand in command.env)")
    try:
        return shlex.split(text)
    except ValueError as problem:
        command.refuse(f"{problem} in {in_quotes(text)}".replace("No closing", "no closing"))


def _near(path: pathlib.Path) -> str:
    """Returns a path as seen from the folder in which searches are started, this one."""
    text = os.path.relpath(path)
    return f"./{text}" if text.startswith("-") else text


class TrialCommand:
    """What starts a trial: `run` and `env` of the section `command`."""

    def __init__(self, command: Node, folder: pathlib.Path) -> None:
        """Reads a command that NNI starts in `folder`. Raises PrepError for what is no Python script."""
        self.env: dict[str, str] = {}
        self.notes: list[str] = []
        words = _words(command)
        while words and (assignment := _ASSIGNMENT.fullmatch(words[0])):
            self.env[assignment[1]] = assignment[2]
            words = words[1:]
        if not words or not _PYTHON.fullmatch(os.path.basename(words[0])):
            command.refuse_as("a Python script with its arguments, such as python3 trial.py --epochs 3, to which `import nni` is given "
                              "(other programs: docs/commands.md)")
        self.run = [self._interpreter(words[0])]
        words = words[1:]
        while words and words[0] in _FLAGS:
            self.run.append(words.pop(0))
        is_module = len(words) > 1 and words[0] == "-m"
        if not words or (words[0].startswith("-") and not is_module):
            command.refuse_as("the script behind Python")
        self.run += ["-m", "skyline.nni", "{parameters}"]
        is_elsewhere = folder.resolve() != pathlib.Path.cwd().resolve()
        if is_elsewhere:
            self.run += ["--in", _near(folder)]
        if not is_module:
            script = folder / words[0]
            if not script.is_file():
                self.notes.append(f"{in_quotes(_near(script))} is not there: put the trial's script into command.run")
            words[0] = _near(script)
        self.run += [word.replace("{", "{{") for word in words]  # one brace begins a placeholder

    def _interpreter(self, name: str) -> str:
        if name == "python" and shutil.which(name) is None:
            self.notes.append("`python` is not there, so trials are started with `python3`")
            return "python3"
        return name
