# SPDX-License-Identifier: GPL-3.0-or-later
"""Capture of the contact problems of time steps of a bake as files.

A file contains the problem of a step as the solver gets it: all islands, with the rows of joints, and with the warm start as
the initial guess. A step may be solved several times, for example after end-of-step contacts are found or bounces are lowered.
It then has one file per solve: `step000012-1.npz`, `step000012-2.npz`. The last one usually gave the motion.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..io.contact_problem_files import ProblemFile, ProblemFileError, write_problem
from ..problem.contact_problem import ContactProblem
from ..problem.forms import Solution
from ..problem.system import System
from ..process.command_line import UsageError

__all__ = ["Capture"]


class Capture:
    """Writes the problems passed to `see` to a folder.

    Raises UsageError if the folder cannot be created or already contains captured problems.
    """

    def __init__(self, folder: Path, steps: range, ending: str = "npz", title: str = ""):
        self._folder, self._steps, self._ending, self._title = folder, steps, ending, title
        self._step, self._of_step, self.written = -1, 0, 0
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UsageError(f"--capture: {folder} is no folder, nor can be one: {error.strerror}") from None
        there = sorted(file.name for file in folder.glob(f"step*-*.{ending}"))
        if there:
            raise UsageError(f"--capture: {folder} has captured problems, as {there[0]}; name another folder, or empty it")

    def see(self, step: int, system: System, impulse: NDArray[np.float64]) -> None:
        """Write the problem of a time step, counted from 0 at the first frame, if the step is requested.

        Raises OSError, and UsageError for a problem that the HDF5 format cannot represent.
        """
        if step not in self._steps:
            return
        self._of_step = self._of_step + 1 if step == self._step else 1
        self._step = step
        problem = ContactProblem.of_system(system)
        guess = Solution(impulse.ravel(), np.zeros(impulse.size))
        contacts = 3 * system.mu.size
        if self._ending == "hdf5":
            guess = Solution(guess.r[:contacts], guess.u[:contacts], guess.r[contacts:])
        title = f"{self._title}, time step {step}, solve {self._of_step}".removeprefix(", ")
        file = self._folder / f"step{step:06d}-{self._of_step}.{self._ending}"
        try:
            write_problem(file, ProblemFile(problem, title, guesses=(guess,)))
        except ProblemFileError as error:
            raise UsageError(f"--capture-format: {error}") from None
        self.written += 1
