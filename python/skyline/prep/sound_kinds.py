"""Which files are sounds, by their first bytes: known without any package."""

from __future__ import annotations

import functools
import importlib

from .media import Medium

_MAGIC = [("FLAC", b"fLaC"), ("OGG", b"OggS"), ("AU", b".snd"), ("CAF", b"caff"), ("MP3", b"ID3"), ("MP3", b"\xff\xfb"), ("MP3", b"\xff\xf3"),
          ("MP3", b"\xff\xf2")]
_OF_SOUNDFILE = {"FLAC", "OGG", "AU", "CAF", "MP3", "AIFF", "RF64", "RIFX"}
_PACKAGE = "soundfile"


def sound_kind(start: bytes) -> str:
    """Returns the kind of sound whose file begins so, or an empty text."""
    if start[8:12] == b"WAVE" and start[:4] in (b"RIFF", b"RIFX", b"RF64"):
        return "WAV" if start[:4] == b"RIFF" else start[:4].decode()
    if start[:4] == b"FORM" and start[8:12] in (b"AIFF", b"AIFC"):
        return "AIFF"
    if start[4:8] == b"ftyp" and start[8:11] in (b"M4A", b"M4B"):
        return "M4A"
    return next((kind for kind, magic in _MAGIC if start.startswith(magic)), "")


@functools.cache
def has_soundfile() -> bool:
    try:
        importlib.import_module(_PACKAGE)
    except (ImportError, OSError):  # the latter without its library
        return False
    return True


def _is_read(kind: str) -> bool:
    return kind == "WAV" or (kind in _OF_SOUNDFILE and has_soundfile())


SOUND = Medium("sound", "a sound", {".wav", ".wave", ".flac", ".ogg", ".oga", ".opus", ".mp3", ".aif", ".aiff", ".aifc", ".au", ".caf", ".m4a"},
               sound_kind, _is_read, dict.fromkeys(_OF_SOUNDFILE, _PACKAGE))
