"""How sounds become samples: kept with a data set, a run and an exported model, and done again with new sounds."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from .errors import PrepError
from .log_mel import LogMel, weights
from .media import MediaProblem
from .option_table import LEAST_RATE, MOST_RATE, MOST_SECONDS
from .sound_files import read_sound
from .wording import number_text, printable

_LOG_MEL = "log-mel"
_MOST_WINDOW = 1 << 16  # samples of a frame
_MOST_BANDS = 256
_MOST_VALUES = 1 << 24  # values of a sample


@dataclass(frozen=True)
class SoundPreparation:
    """Rate, length in samples, and what is made of them: themselves, or a spectrogram.

    >>> made = SoundPreparation.from_json(session.get_modelmeta().custom_metadata_map["preparation"])
    >>> session.run(None, {"input": made.read("new.wav")[None]})
    """

    rate: int
    length: int
    mel: LogMel | None = None  # None: the samples as they are

    @property
    def shape(self) -> tuple[int, int, int]:
        """Channels, height and width of a sample: bands and frames of a spectrogram."""
        return (1, self.mel.bands, self.mel.num_frames(self.length)) if self.mel else (1, 1, self.length)

    def features(self, samples: np.ndarray) -> np.ndarray:
        """Returns the sample of a sound, float32 [1, height, width], made from its samples [n] at this rate, of -1 to 1.

        Zeros follow a sound that is too short, and of one that is too long the beginning is taken.
        """
        whole = self.whole(samples)
        return (self.mel(whole) if self.mel else whole).reshape(self.shape)

    def whole(self, samples: np.ndarray) -> np.ndarray:
        """Returns so many samples as all sounds have, float32 [length]: what an exported `.sound.onnx` takes."""
        taken = samples[:self.length].astype(np.float32)
        return np.pad(taken, (0, self.length - len(taken)))

    def read(self, path: str) -> np.ndarray:
        """Returns the sample of a file. Raises PrepError."""
        try:
            return self.features(read_sound(str(path), self.rate, self.length))
        except MediaProblem as problem:
            raise PrepError(f"{path}: {problem}") from problem

    def check(self) -> None:
        """Checks what options say. Raises PrepError."""
        mel = self.mel
        if math.prod(self.shape) > _MOST_VALUES:
            raise PrepError(f"--length: samples of {'x'.join(map(str, self.shape))}, expected at most {_MOST_VALUES} values")
        if not mel:
            return
        if mel.window > _MOST_WINDOW:
            raise PrepError(f"--window: expected at most {_MOST_WINDOW} samples, got {mel.window}")
        if self.length < mel.window:
            raise PrepError(f"--length: {number_text(self.length / self.rate)} s are shorter than a frame of "
                            f"{number_text(1000 * mel.window / self.rate)} ms (--window)")
        if not 0 <= mel.low < mel.high <= mel.rate / 2:
            raise PrepError(f"--low and --high: expected 0 <= low < high <= {number_text(mel.rate / 2)}, half the rate, got "
                            f"{number_text(mel.low)} and {number_text(mel.high)}")
        empty = np.flatnonzero(weights(mel).sum(1) == 0)
        if len(empty):
            raise PrepError(f"--bands: {len(empty)} of {mel.bands} bands lie between two frequencies of a frame of {mel.window} samples: "
                            "fewer bands or a longer --window have some in each")

    def to_json(self) -> str:
        node: dict[str, Any] = {"rate": self.rate, "length": self.length, "features": _LOG_MEL if self.mel else "samples"}
        if self.mel:
            node |= {key: value for key, value in asdict(self.mel).items() if key != "rate"} | {"fft": self.mel.fft}
        return json.dumps({"sound": node, "features": [{"column": node["features"]}]}, separators=(",", ":"))

    @staticmethod
    def from_json(text: str) -> SoundPreparation:
        """Reads what `to_json` has written, or somebody else. Raises PrepError."""
        try:
            node = json.loads(text)["sound"]
            mel = LogMel(node["rate"], *(node[key] for key in ("window", "hop", "bands", "low", "high"))) if node["features"] == _LOG_MEL else None
            made = SoundPreparation(node["rate"], node["length"], mel)
            if made._is_valid() and json.loads(made.to_json())["sound"] == node:
                return made
        except (ValueError, KeyError, TypeError, RecursionError):
            pass
        raise PrepError(f"expected a preparation of sounds as `skyline prep` writes it, got {printable(text[:60])}")

    def _is_valid(self) -> bool:
        counts = [self.rate, self.length] + ([self.mel.window, self.mel.hop, self.mel.bands] if self.mel else [])
        if not all(type(each) is int and each > 0 for each in counts):
            return False
        if not LEAST_RATE <= self.rate <= MOST_RATE or self.length > MOST_SECONDS * self.rate:
            return False
        mel = self.mel
        if mel and not (mel.window <= min(self.length, _MOST_WINDOW) and mel.bands <= _MOST_BANDS and 0 <= mel.low < mel.high <= self.rate / 2):
            return False
        return math.prod(self.shape) <= _MOST_VALUES
