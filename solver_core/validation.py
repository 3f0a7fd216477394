"""Finds everything in a scene that cannot be simulated, before the first step."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["SceneError", "SceneProblem"]


@dataclass(frozen=True)
class SceneProblem:
    """One thing that is wrong: the object's name, the field's, and a sentence that says what and what to do."""

    object: str
    field: str
    message: str

    def __str__(self) -> str:
        return f"{self.object}: {self.field}: {self.message}"


class SceneError(ValueError):
    """The scene cannot be simulated; `problems` names every object and field that is wrong."""

    def __init__(self, problems: tuple[SceneProblem, ...]):
        super().__init__("\n".join(str(problem) for problem in problems))
        self.problems = problems
