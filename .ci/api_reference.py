# SPDX-License-Identifier: GPL-3.0-or-later
"""The reference of `solver_core`, as Markdown made of its docstrings: what `docs/conf.py` puts into docs/api.md."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import re
import sys
from enum import Enum
from pathlib import Path
from types import ModuleType
from typing import Any

__all__ = ["GROUPS", "reference"]

ROOT = Path(__file__).resolve().parents[1]
# Names by subject, in the order of a script. A test says which name is missing.
GROUPS = {
    "Scenes": (
        "SceneSpec",
        "BodySpec",
        "BodyKind",
        "ShapeSpec",
        "ShapeKind",
        "MaterialSpec",
        "Grain",
        "JointSpec",
        "AxisSpec",
        "box",
        "sphere",
        "capsule",
        "ground",
        "scattered",
        "scenes",
        "SceneError",
    ),
    "Simulation": ("Simulation", "SolverSettings", "Staggering", "Frame", "FrameStatistics", "settle", "Settled"),
    "Contact problems": (
        "ContactProblem",
        "ContactProblems",
        "EllipticProblem",
        "GlobalForm",
        "LocalForm",
        "Friction",
        "Rounding",
        "configurations",
        "creep_problem",
    ),
    "Solvers": ("solve", "solve_many", "solve_lcp", "lcp_residual"),
    "Results": ("Result", "Results", "LcpResult", "Status", "Found", "Statistics", "residuals", "Residuals", "Residual"),
}
# Outside of code: what Markdown would read as emphasis, links, tags and tables.
SPECIAL = re.compile(r"([\\*_\[\]<>|#$~])")


def reference() -> str:
    """Sections of all names that `solver_core` exports, with their signatures and docstrings."""
    if str(ROOT) not in sys.path:
        sys.path.insert(0, str(ROOT))
    core = importlib.import_module("solver_core")
    lines: list[str] = []
    for title, names in GROUPS.items():
        lines += [f"## {title}", ""]
        for name in names:
            lines += _entry(name, getattr(core, name))
    return "\n".join(lines)


def _entry(name: str, thing: Any) -> list[str]:
    if isinstance(thing, ModuleType):
        return [f"### sc.{name}", "", *_text(thing), *_functions(name, thing)]
    if not inspect.isclass(thing):
        return [f"### sc.{name}", "", *_signature(f"sc.{name}", thing), *_text(thing)]
    lines = [f"### sc.{name}", ""]
    if issubclass(thing, Enum):
        return [*lines, *_text(thing), "Members: " + ", ".join(f"`{one.name}`" for one in thing) + ".", ""]
    if not issubclass(thing, BaseException):
        lines += _signature(f"sc.{name}", thing)
    return [*lines, *_text(thing), *_members(name, thing)]


def _members(name: str, owner: type) -> list[str]:
    """The public methods and properties that a class defines itself."""
    lines: list[str] = []
    fields = {one.name for one in dataclasses.fields(owner)} if dataclasses.is_dataclass(owner) else set()
    for attribute, value in vars(owner).items():
        if attribute.startswith("_") or attribute in fields:
            continue
        function = value.__func__ if isinstance(value, (classmethod, staticmethod)) else value
        function = getattr(function, "func", function)
        if isinstance(function, property):
            lines += [f"#### sc.{name}.{attribute}", "", *_text(function)]
        elif inspect.isfunction(function):
            lines += [f"#### sc.{name}.{attribute}", ""]
            if function is value or isinstance(value, (classmethod, staticmethod)):
                lines += _signature(f"{'' if isinstance(value, (classmethod, staticmethod)) else '.'}{attribute}", function)
            lines += _text(function)
    return lines


def _functions(name: str, module: ModuleType) -> list[str]:
    """The public functions of a module, one line each."""
    public = getattr(module, "__all__", [one for one in vars(module) if not one.startswith("_")])
    found = [(one, getattr(module, one)) for one in public]
    return [*(f"- `sc.{name}.{one}`: {_first_sentence(thing)}" for one, thing in found if inspect.isfunction(thing)), ""]


def _signature(name: str, thing: Any) -> list[str]:
    parameters = list(inspect.signature(thing).parameters.values())
    if inspect.isfunction(thing) and parameters and parameters[0].name in ("self", "cls"):
        parameters = parameters[1:]
    shown = [_shown(one) for one in parameters]
    for kind, mark in ((inspect.Parameter.KEYWORD_ONLY, "*"),):
        first = next((i for i, one in enumerate(parameters) if one.kind is kind), None)
        if first is not None and not any(one.kind is inspect.Parameter.VAR_POSITIONAL for one in parameters):
            shown.insert(first, mark)
    one_line = f"{name}({', '.join(shown)})"
    wrapped = one_line if len(one_line) <= 100 else f"{name}(\n" + "".join(f"    {one},\n" for one in shown) + ")"
    return ["```", wrapped, "```", ""]


def _shown(parameter: inspect.Parameter) -> str:
    star = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
    empty, default = inspect.Parameter.empty, parameter.default
    if default is empty:
        return f"{star}{parameter.name}"
    if isinstance(default, Enum):
        return f"{parameter.name}={type(default).__name__}.{default.name}"
    # arrays and factories have no text that means anything
    text = repr(default)
    return f"{parameter.name}={text if len(text) <= 40 and '<' not in text else '...'}"


def _text(thing: Any) -> list[str]:
    """The docstring as Markdown. Sections of numpydoc become lists; indented text and tables stay unchanged."""
    lines: list[str] = []
    for paragraph in re.split(r"\n\s*\n", inspect.getdoc(thing) or ""):
        rows = paragraph.splitlines()
        if rows and all(row.startswith("    ") or row.startswith("|") for row in rows):
            lines += ["```", *(row.removeprefix("    ") for row in rows), "```", ""]
        elif len(rows) > 1 and rows[1] and not rows[1].strip("-"):
            # a section of numpydoc, whose underline would be a heading
            items = [f"  {row.strip()}" if row.startswith(" ") else f"- {row}" for row in map(_escaped, rows[2:])]
            lines += [f"**{rows[0]}**", "", *items, ""]
        else:
            lines += [_escaped(paragraph), ""]
    return lines


def _escaped(text: str) -> str:
    parts = re.split(r"(`[^`\n]+`)", text)
    return "".join(part if i % 2 else SPECIAL.sub(r"\\\1", part) for i, part in enumerate(parts))


def _first_sentence(thing: Any) -> str:
    text = " ".join((inspect.getdoc(thing) or "").split("\n\n")[0].split())
    return _escaped(text)


if __name__ == "__main__":
    print(reference())
