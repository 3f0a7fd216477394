# SPDX-License-Identifier: GPL-3.0-or-later
"""What a file of a contact problem holds, whatever its format: the problem, what is said of it, guesses and a solution."""

from __future__ import annotations

import os
from dataclasses import dataclass

from ..problem.contact_problem import ContactProblem
from ..problem.forms import GlobalForm, LocalForm, Solution
from ..problem.result import Result
from ..problem.rounding import Rounding

__all__ = ["Form", "ProblemFile", "ProblemFileError"]

Form = LocalForm | GlobalForm | ContactProblem


class ProblemFileError(ValueError):
    """A file is no contact problem, or a damaged one: its `path`, and the `reason`, with what to do."""

    def __init__(self, path: str | os.PathLike[str], reason: str):
        super().__init__(f"{os.fspath(path)}: {reason}")
        self.path = path
        self.reason = reason


@dataclass(frozen=True)
class ProblemFile:
    """A contact problem as a file has it. form: by its Delassus operator, by its masses, or by bodies with all that they have.
    guesses: impulses to begin from. solution: an answer that was kept with it."""

    form: Form
    title: str = ""
    description: str = ""
    math_info: str = ""
    guesses: tuple[Solution, ...] = ()
    solution: Solution | None = None

    def problem(self, rounding: Rounding | str = Rounding.REPAIR) -> ContactProblem:
        """The problem to be solved. Raises ValueError naming what is wrong."""
        return self.form if isinstance(self.form, ContactProblem) else self.form.problem(rounding)

    def answered(self, result: Result) -> Solution:
        """A result of `problem` as a solution of the form, its velocities those of the form's own matrices."""
        if isinstance(self.form, ContactProblem):
            return Solution(result.impulse.ravel(), result.velocity.ravel(), result.bilateral, result.body_velocity)
        return self.form.solution(result.impulse, result.bilateral)
