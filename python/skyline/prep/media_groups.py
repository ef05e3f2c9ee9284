"""Groups of files that stay in one part: images or sounds of one person."""

from __future__ import annotations

import os
import re

from .errors import PrepError
from .media_folder import MediaFile, MediaFolder
from .name_pattern import NamePattern, is_pattern
from .wording import in_quotes

GROUP_WORDS = ("none", "folder", "name")


def is_column(how: str) -> bool:
    """Returns whether a value of --group names a column of the table of labels."""
    return how not in GROUP_WORDS and not is_pattern(how)


class Grouping:
    """Finds the group of a file as --group says."""

    def __init__(self, how: str, folder: MediaFolder) -> None:
        """Raises PrepError for a column where there is no table."""
        self._how = how
        self._pattern = NamePattern(how, "group", "--group") if is_pattern(how) else None
        if is_column(how) and not folder.is_by_table:
            raise PrepError(f"--group: expected `none`, `folder`, `name`, a pattern such as *_{{group}}_*, or a column of a table of labels, "
                            f"which is not read here, got {in_quotes(how)}")

    def of(self, file: MediaFile) -> str:
        if self._how == "folder":
            parent = os.path.dirname(file.path)
            if parent == file.folder.path:
                raise PrepError(f"{file.path}: expected a folder below that of its class, named like its group (--group=folder)")
            return os.path.basename(parent)
        name = os.path.splitext(os.path.basename(file.path))[0]
        if self._pattern:
            found = self._pattern.find(name)
            if not found:
                raise PrepError(f"{file.path}: expected a name like {self._pattern.text} (--group)")
            return found
        if self._how != "name":
            return file.group
        begin = re.match("([^_-]+)[_-]", name)
        if not begin:
            raise PrepError(f"{file.path}: expected a name that begins with its group, up to `_` or `-` (--group=name)")
        return begin[1]
