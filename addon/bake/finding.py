# SPDX-License-Identifier: GPL-3.0-or-later
"""One finding of a scene check."""

from __future__ import annotations

from dataclasses import dataclass

from ...solver_core.process.console import one_line
from ...solver_core.scene.words import in_words
from ...solver_core.validation.findings import first_few

__all__ = ["Finding"]


@dataclass(frozen=True)
class Finding:
    """A finding.

    level: ERROR if the scene cannot be baked, WARNING, or INFO. values: one number for each object, if there are numbers.
    """

    level: str
    objects: tuple[str, ...]
    field: str
    message: str
    values: tuple[float, ...] = ()

    def __str__(self) -> str:
        about = f"{first_few(self.objects)}: " if self.objects else ""
        return one_line(f"{about}{in_words(self.field)}: {self.message}")
