"""Which files are images, by their first bytes: known without Pillow."""

from __future__ import annotations

import contextlib
import functools
import importlib

from .media import Medium

_MAGIC = [  # kind, place, bytes
    ("PNG", 0, b"\x89PNG\r\n\x1a\n"), ("JPEG", 0, b"\xff\xd8\xff"), ("WebP", 8, b"WEBP"), ("GIF", 0, b"GIF8"), ("TIFF", 0, b"II*\0"),
    ("TIFF", 0, b"MM\0*"), ("TIFF", 0, b"II+\0"), ("TIFF", 0, b"MM\0+"), ("HEIC", 4, b"ftyphei"), ("HEIC", 4, b"ftyphev"),
    ("HEIC", 4, b"ftypmif1"), ("AVIF", 4, b"ftypavi"), ("JPEG 2000", 0, b"\0\0\0\x0cjP  "), ("JPEG 2000", 0, b"\xff\x4f\xff\x51"),
    ("JPEG XL", 0, b"\0\0\0\x0cJXL "), ("JPEG XL", 0, b"\xff\x0a"), ("ICO", 0, b"\0\0\1\0"), ("PSD", 0, b"8BPS"), ("PAM", 0, b"P7\n"),
    ("QOI", 0, b"qoif"), ("DDS", 0, b"DDS "), ("PCX", 0, b"\x0a\x05\x01\x08"), ("SGI", 0, b"\x01\xda"), ("DICOM", 128, b"DICM")]
_PILLOW_FORMATS = {"PNG": "PNG", "JPEG": "JPEG", "WebP": "WEBP", "PNM": "PPM", "BMP": "BMP", "GIF": "GIF", "TIFF": "TIFF", "HEIC": "HEIF",
                   "AVIF": "AVIF", "JPEG 2000": "JPEG2000", "PSD": "PSD", "QOI": "QOI", "DDS": "DDS", "PCX": "PCX", "SGI": "SGI"}
_ENDINGS = {".png", ".jpg", ".jpeg", ".jpe", ".jfif", ".webp", ".pbm", ".pgm", ".ppm", ".pnm", ".bmp", ".gif", ".tif", ".tiff", ".heic",
            ".heif", ".avif", ".jp2"}


def image_kind(start: bytes) -> str:
    """Returns the kind of image whose file begins so, or an empty text."""
    if start[:1] == b"P" and start[1:2] in (b"1", b"2", b"3", b"4", b"5", b"6") and (start[2:3].isspace() or start[2:3] == b"#"):
        return "PNM"
    if start.startswith(b"BM") and start[6:10] == bytes(4):  # the two letters alone begin texts, too
        return "BMP"
    return next((kind for kind, place, magic in _MAGIC if start.startswith(magic, place)), "")


@functools.cache
def pillow_format(kind: str) -> str:
    """Returns Pillow's name of a kind that is read here, or an empty text."""
    from PIL import Image

    if kind == "HEIC":
        _add_heic()
    Image.init()
    name = _PILLOW_FORMATS.get(kind, "")
    return name if name in Image.OPEN else ""


def _add_heic() -> None:
    with contextlib.suppress(ImportError):
        importlib.import_module("pillow_heif").register_heif_opener()


def _is_read(kind: str) -> bool:
    return pillow_format(kind) != ""


IMAGE = Medium("image", "an image", _ENDINGS, image_kind, _is_read, {"HEIC": "pillow-heif", "AVIF": "pillow>=11.3"})
