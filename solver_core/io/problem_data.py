# SPDX-License-Identifier: GPL-3.0-or-later
"""The content of a file of a contact problem in any format: the problem, its description, guesses and a solution."""

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
    """A file is not a valid contact problem. `path`, and the `reason` with its remedy."""

    def __init__(self, path: str | os.PathLike[str], reason: str):
        super().__init__(f"{os.fspath(path)}: {reason}")
        self.path = path
        self.reason = reason


@dataclass(frozen=True)
class ProblemFile:
    """A contact problem from a file.

    form: the problem by its Delassus operator, by its mass matrix, or by bodies.
    guesses: initial impulses.
    solution: the solution in the file, or None.
    """

    form: Form
    title: str = ""
    description: str = ""
    math_info: str = ""
    guesses: tuple[Solution, ...] = ()
    solution: Solution | None = None

    def problem(self, rounding: Rounding | str = Rounding.REPAIR) -> ContactProblem:
        """Return the problem to solve. Raises ValueError that names the error."""
        return self.form if isinstance(self.form, ContactProblem) else self.form.problem(rounding)

    def answered(self, result: Result) -> Solution:
        """Return a result of `problem` as a solution of the form, with velocities from the form's own matrices."""
        if isinstance(self.form, ContactProblem):
            return Solution(result.impulse.ravel(), result.velocity.ravel(), result.bilateral, result.body_velocity)
        return self.form.solution(result.impulse, result.bilateral)
