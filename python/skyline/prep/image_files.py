"""Image files: their headers, and their pixels in the size and the colours of a data set."""

from __future__ import annotations

import contextlib
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from PIL import Image, ImageFile, PngImagePlugin, TiffImagePlugin, UnidentifiedImageError

from .image_kinds import image_kind, pillow_format
from .media import MediaProblem, not_read, open_media_file
from .option_table import MOST_SIDE
from .wording import printable

warnings.filterwarnings("ignore", module="PIL")
Image.MAX_IMAGE_PIXELS = None  # checked here, with a line for people
PngImagePlugin.MAX_TEXT_CHUNK = 1 << 23  # bytes of an unpacked text or profile; by default too few for the profiles of printers
_MOST_PIXELS = 1 << 26  # pixels of an image, checked before memory is taken
_MOST_SCANS = 500  # scans of a progressive JPEG; each takes the time of a whole image
_LEAST_DECODED = 6  # pixels, each way, for one of the result: its values are within 2 of those of a whole decoding
_START_BYTES = 512
_WIDTH, _HEIGHT, _ORIENTATION = 0x0100, 0x0101, 0x0112  # tags of TIFF and EXIF
_TURNS = {2: Image.Transpose.FLIP_LEFT_RIGHT, 3: Image.Transpose.ROTATE_180, 4: Image.Transpose.FLIP_TOP_BOTTOM,
          5: Image.Transpose.TRANSPOSE, 6: Image.Transpose.ROTATE_270, 7: Image.Transpose.TRANSVERSE, 8: Image.Transpose.ROTATE_90}
_GREY_MODES = ("1", "L", "LA", "La", "I", "F")
_UNKNOWN = "not a PNG, JPEG, WebP, PBM, PGM or PPM image, nor another that Pillow reads"


@dataclass(frozen=True)
class ImageHeader:
    height: int  # height as shown, after a turn
    width: int
    is_grey: bool
    has_deep_colours: bool = False  # 16 bits for each value, of which Pillow reads the upper 8
    has_frames: bool = False  # an animation, or pages


@dataclass(frozen=True)
class Pixels:
    values: np.ndarray  # uint8 [channels, height, width]
    deep: np.ndarray | None  # the different values of a grey file that has 16 bits for each


@dataclass(frozen=True)
class PixelReader:
    """Reads images in the size and the colours of a data set. Any thread may call it."""

    shape: tuple[int, int, int]
    fit: str = "resize"  # or "crop"
    resizes: bool = True  # False: an image of another size is a problem
    drops_colours: bool = False

    def __call__(self, path: str) -> Pixels:
        """Raises MediaProblem."""
        channels, height, width = self.shape
        with _opened(path) as image:
            header = _header(image)
            has_size = self.resizes or (header.height, header.width) == (height, width)
            if not has_size or (channels == 1 and not header.is_grey and not self.drops_colours):
                raise MediaProblem("another image took its place while the folder was read")
            _check_content(image)
            scaled = _scaled_size(header, height, width, self.fit)
            _decode_reduced(image, min(header.height / scaled[0], header.width / scaled[1]) / _LEAST_DECODED)
            eight_bits, deep = _as_eight_bits(image)
            fitted = _fitted(_coloured(_turned(eight_bits, image), channels), scaled, height, width)
            return Pixels(np.asarray(fitted).reshape(height, width, channels).transpose(2, 0, 1), deep)


def read_header(path: str) -> ImageHeader:
    """Raises MediaProblem."""
    with _opened(path) as image:
        header = _header(image)
        return ImageHeader(header.height, header.width, header.is_grey, _has_deep_colours(image), _has_frames(image))


@contextlib.contextmanager
def _opened(path: str) -> Iterator[ImageFile.ImageFile]:
    """Opens an image. Errors of Pillow, also those of the body, become an MediaProblem: damaged files raise all kinds of them."""
    with open_media_file(path) as file:
        start = file.read(_START_BYTES)
        kind = image_kind(start)
        if not kind:
            raise MediaProblem(_UNKNOWN if start else "the file is empty")
        if not pillow_format(kind):
            raise MediaProblem(not_read(kind))
        try:
            with Image.open(file, formats=[pillow_format(kind)]) as image:
                assert isinstance(image, ImageFile.ImageFile)
                yield image
        except MediaProblem:
            raise
        except MemoryError:  # a damaged file may claim any length
            raise MediaProblem(f"a {kind} file, for which there is too little memory") from None
        except UnidentifiedImageError:
            raise MediaProblem(f"damaged {kind}: its header cannot be read") from None
        except Exception as error:
            if isinstance(error, OSError) and error.errno:
                raise MediaProblem(f"cannot read {path}: {error.strerror}") from None
            raise MediaProblem(f"damaged {kind}: {printable(str(error)) or type(error).__name__}") from None


def _header(image: ImageFile.ImageFile) -> ImageHeader:
    """Returns the header of an image, and checks its size."""
    width, height = _stored_size(image)
    if _orientation(image) >= 5:
        width, height = height, width
    if min(width, height) < 1:
        raise MediaProblem(f"an image of {height} x {width} pixels")
    if max(width, height) > MOST_SIDE or width * height > _MOST_PIXELS:
        raise MediaProblem(f"expected at most {MOST_SIDE} pixels a side and {_MOST_PIXELS} in all, got {height} x {width}")
    return ImageHeader(height, width, image.mode in _GREY_MODES or image.mode.startswith("I;16"))


def _stored_size(image: ImageFile.ImageFile) -> tuple[int, int]:
    """Returns width and height as stored: those of a TIFF that lies on its side are swapped by some versions of Pillow."""
    if isinstance(image, TiffImagePlugin.TiffImageFile):
        return image.tag_v2[_WIDTH], image.tag_v2[_HEIGHT]
    return image.size


def _orientation(image: ImageFile.ImageFile) -> int:
    """Returns how an image is to be turned, by its EXIF part. A damaged one is left out."""
    if image.format == "PNG" and "exif" not in image.info:  # Pillow would decode the image in search of it
        return 1
    try:
        orientation = image.getexif().get(_ORIENTATION, 1)
    except Exception:
        return 1
    return orientation if orientation in _TURNS else 1


def _has_deep_colours(image: ImageFile.ImageFile) -> bool:
    if image.mode not in ("RGB", "RGBA", "RGBX", "CMYK", "LA") or not image.tile:
        return False
    given = image.tile[0][3]  # the decoder's arguments
    arguments = given if isinstance(given, tuple) else (given,)
    if image.format == "PPM":
        return len(arguments) == 2 and arguments[1] > 255
    rawmode = str(arguments[0]) if arguments else ""
    return ";16" in rawmode and not rawmode.startswith("BGR")  # BGR;16 has 16 bits for all of its values


def _has_frames(image: ImageFile.ImageFile) -> bool:
    if image.format in ("MPO", "PSD"):  # a photo and its preview, or layers
        return False
    try:
        return bool(getattr(image, "is_animated", False))
    except Exception:  # a damaged second frame
        return True


def _check_content(image: ImageFile.ImageFile) -> None:
    """Refuses what Pillow would take very long for, or read as something else."""
    is_plain = image.format == "PPM" and image.mode != "1" and image.tile[0][0] == "ppm_plain"
    if not is_plain and not image.info.get("progressive"):
        return
    place = image.fp.tell()
    image.fp.seek(0)
    content = image.fp.read()
    image.fp.seek(place)
    if is_plain:  # Pillow repeats the last number of a file that is cut off
        expected = 4 + image.width * image.height * len(image.getbands())
        words = sum(1 for _ in re.finditer(rb"\S+", re.sub(rb"#[^\r\n]*", b"", content)))
        if words != expected:
            raise MediaProblem(f"damaged PNM: expected {expected - 4} values, got {max(words - 4, 0)}")
    elif content.count(b"\xff\xda") > _MOST_SCANS:
        raise MediaProblem(f"damaged JPEG: more than {_MOST_SCANS} scans")


def _scaled_size(header: ImageHeader, height: int, width: int, fit: str) -> tuple[int, int]:
    """Returns height and width to which an image is scaled: those that are wanted, or those that cover them."""
    if fit == "resize":
        return height, width
    if header.width * height <= header.height * width:
        return header.height * width // header.width, width
    return height, header.width * height // header.height


def _fitted(image: Image.Image, scaled: tuple[int, int], height: int, width: int) -> Image.Image:
    """Scales an image, and cuts its middle, as torchvision's Resize and CenterCrop do."""
    top, left = round((scaled[0] - height) / 2), round((scaled[1] - width) / 2)
    box = left, top, left + width, top + height
    if scaled[0] * scaled[1] <= _MOST_PIXELS:
        whole = image.resize((scaled[1], scaled[0]), Image.Resampling.BILINEAR)
        return whole if whole.size == (width, height) else whole.crop(box)
    across, down = image.width / scaled[1], image.height / scaled[0]  # a line would become far too large
    part = box[0] * across, box[1] * down, min(box[2] * across, image.width), min(box[3] * down, image.height)
    return image.resize((width, height), Image.Resampling.BILINEAR, part)


def _decode_reduced(image: ImageFile.ImageFile, most: float) -> None:
    """Has a JPEG decoded at a fraction of its size, which takes a part of the time. The factor divides both sides: else the last row or
    column would be partly empty."""
    width, height = image.size
    factor = next((each for each in (8, 4, 2) if each <= most and width % each == height % each == 0), 1)
    if factor > 1 and image.format in ("JPEG", "MPO"):
        image.draft(image.mode, (width // factor, height // factor))


def _as_eight_bits(image: ImageFile.ImageFile) -> tuple[Image.Image, np.ndarray | None]:
    """Rounds values of 16 bits to 8, and returns the different ones. Pillow would cut them off at 255."""
    if image.mode == "F" or (image.mode == "I" and image.format not in ("PNG", "PPM")):
        raise MediaProblem("values that are no pixels of 8 or 16 bits: floating-point numbers, or whole ones with a sign or 32 bits "
                           "(`skyline prep arrays` keeps those of an array)")
    image.load()
    if not image.mode.startswith("I"):
        return image, None
    values = np.asarray(image).astype(np.int32)
    seen = np.zeros(1 << 16, bool)
    seen[values] = True
    return Image.fromarray(rounded(values)), np.flatnonzero(seen)


def rounded(values: np.ndarray) -> np.ndarray:
    """Returns what values of 16 bits become."""
    return ((values + 128) // 257).astype(np.uint8)


def _turned(image: Image.Image, opened: ImageFile.ImageFile) -> Image.Image:
    """Turns an image as the file says. Pillow itself turns a TIFF."""
    turn = None if opened.format == "TIFF" else _TURNS.get(_orientation(opened))
    return image if turn is None else image.transpose(turn)


def _coloured(image: Image.Image, channels: int) -> Image.Image:
    if channels == 3:
        return image.convert("RGB")
    return image.convert("L") if image.mode in ("1", "LA", "La") else image if image.mode == "L" else image.convert("RGB").convert("L")
