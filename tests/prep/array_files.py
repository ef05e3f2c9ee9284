"""Files of arrays for tests, also such as NumPy does not write."""

import io
import zipfile

import numpy as np

TWO_IMAGES = np.frombuffer(b"abcdefABCDEF", "u1").reshape(2, 1, 2, 3)
TWO_LABELS = np.array([5, 3])


def npy(array: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.save(file, array, allow_pickle=False)
    return file.getvalue()


def npy_with_header(header: str, content: bytes = b"") -> bytes:
    """An npy file of version 1 with any header."""
    text = header.encode()
    return b"\x93NUMPY\1\0" + len(text).to_bytes(2, "little") + text + content


def npz(entries: dict[str, bytes | np.ndarray], packing: int = zipfile.ZIP_STORED) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", packing) as zipped:
        for name, content in entries.items():
            zipped.writestr(f"{name}.npy", content if isinstance(content, bytes) else npy(content))
    return file.getvalue()


def idx(code: int, shape: tuple[int, ...], content: bytes) -> bytes:
    return bytes([0, 0, code, len(shape)]) + np.array(shape, ">u4").tobytes() + content
