# SPDX-License-Identifier: GPL-3.0-or-later
"""The supported farms. Does not depend on Blender, because the command-line options name them."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ...solver_core.io.outputs import OutputKind
from .farm_job import FarmJob
from .flamenco import flamenco_job_type
from .opencue import opencue_outline
from .openjd import openjd_template

__all__ = ["FARMS", "Farm"]


@dataclass(frozen=True)
class Farm:
    """A farm for which jobs can be written.

    label: its name. ending: extension of the file. text: returns a job, given its folder.
    """

    label: str
    ending: str
    kind: OutputKind
    text: Callable[[FarmJob, Path], str]


FARMS = {
    "openjd": Farm(
        "OpenJD",
        ".json",
        OutputKind("a job template of OpenJD", re.compile(rb'\{\s*"specificationVersion": "jobtemplate-')),
        openjd_template,
    ),
    "flamenco": Farm(
        "Flamenco",
        ".js",
        OutputKind("a job type of Stiction for Flamenco", re.compile(rb"// Stiction: a job type for Flamenco")),
        flamenco_job_type,
    ),
    "opencue": Farm(
        "OpenCue",
        ".py",
        OutputKind("an outline of Stiction for OpenCue", re.compile(rb"# Stiction: an outline for OpenCue")),
        opencue_outline,
    ),
}
