# SPDX-License-Identifier: GPL-3.0-or-later
"""All experiments by their subjects and names."""

from __future__ import annotations

from collections.abc import Callable

from . import billiards, impacts, jointed, kerbs, passing, seams, sliding, spinning
from .experiment import Experiment

__all__ = ["SUBJECTS", "find"]

SUBJECTS: dict[str, dict[str, Callable[[], Experiment]]] = {
    "seams": seams.SCENES,
    "kerbs": kerbs.SCENES,
    "passing": passing.SCENES,
    "impacts": impacts.SCENES,
    "billiards": billiards.SCENES,
    "sliding": sliding.SCENES,
    "spinning": spinning.SCENES,
    "jointed": jointed.SCENES,
}


def find(subjects: list[str], words: list[str]) -> list[tuple[str, str, Callable[[], Experiment]]]:
    """(subject, name, how it is made) of the experiments of these subjects whose name has one of the words; of all without any."""
    return [
        (subject, name, make)
        for subject in subjects
        for name, make in SUBJECTS[subject].items()
        if not words or any(word.lower() in name.lower() for word in words)
    ]
