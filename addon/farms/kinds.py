# SPDX-License-Identifier: GPL-3.0-or-later
"""The farms that jobs are written for. Knows nothing of Blender, for the options of the command line name them."""

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
    """How jobs for a farm are written. label: what it is called; ending: of the file's name; text: of a job that
    will be in a folder."""

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
