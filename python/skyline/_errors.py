"""The one exception of the package."""

from __future__ import annotations


class Error(Exception):
    """Something was refused or has failed; the text is the program's own line where the program said it.

    `exit_code` is that of the program: 2 wrong input, 3 no front, 70 a bug of Skyline, 76 something outside failed. What the
    package itself refuses has the code 2.
    """

    def __init__(self, message: str, exit_code: int = 2) -> None:
        super().__init__(message)
        self.exit_code = exit_code


Error.__module__ = "skyline"  # the module that tracebacks name
