# SPDX-License-Identifier: GPL-3.0-or-later
"""Sound as a wav file of 16 bits, mono, which says that Stiction wrote it, so that no other sound is written over."""

from __future__ import annotations

import re
import struct

import numpy as np
from numpy.typing import NDArray

from ..io.outputs import OutputKind
from .excitation import SAMPLE_RATE

__all__ = ["WAV", "wav_bytes"]

# Of full scale: -1 dB.
PEAK = 0.891
FULL_SCALE = 32_767
WRITER = b"Stiction"
WAV = OutputKind("a sound of Stiction", re.compile(rb"RIFF.{4}WAVEfmt .{20}LIST.{4}INFOISFT.{4}Stiction", re.DOTALL))


def wav_bytes(sound: NDArray[np.float64]) -> bytes:
    """Return a sound (n,) as a wav file whose largest sample is PEAK of full scale. Silence stays silence."""
    largest = float(np.abs(sound).max(initial=0.0))
    scaled = sound * (PEAK * FULL_SCALE / largest if largest > 0.0 else 0.0)
    samples = np.round(scaled).astype("<i2").tobytes()
    form = chunk(b"fmt ", struct.pack("<HHIIHH", 1, 1, SAMPLE_RATE, 2 * SAMPLE_RATE, 2, 16))
    information = chunk(b"LIST", b"INFO" + chunk(b"ISFT", WRITER + b"\0\0"))
    return chunk(b"RIFF", b"WAVE" + form + information + chunk(b"data", samples))


def chunk(name: bytes, content: bytes) -> bytes:
    """Return a chunk of a RIFF file; all contents here have an even length."""
    return name + struct.pack("<I", len(content)) + content
