# SPDX-License-Identifier: GPL-3.0-or-later
"""Solvers for rigid bodies with contact and friction: the published algorithms, and the simulation that runs them.

    import solver_core as sc
    problem = sc.ContactProblem.from_delassus(G, g, mu)
    result = sc.solve(problem, tolerance=1e-8)
    frames = sc.Simulation(sc.scenes.card_house(levels=3)).run(24)
    scene = sc.SceneSpec((sc.ground(), sc.box("Crate", (1, 1, 1), position=(0, 0, 0.5))))

Names are imported at first use, so reading or writing a scene does not load a compiler.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .dynamics.model.frame import Frame, FrameStatistics
    from .dynamics.settle import Settled, settle
    from .dynamics.simulation import Simulation
    from .laboratory.lcp import LcpResult, lcp_residual, solve_lcp
    from .laboratory.many_problems import ContactProblems
    from .laboratory.solve import solve
    from .laboratory.solve_many import solve_many
    from .problem import configurations
    from .problem.accuracy import Residual, Residuals, residuals
    from .problem.contact_problem import ContactProblem
    from .problem.ellipse import EllipticProblem
    from .problem.forms import GlobalForm, LocalForm
    from .problem.friction import Friction
    from .problem.result import Found, Result, Results, Statistics, Status
    from .problem.rounding import Rounding
    from .published.baraff_1991.creep import creep_problem
    from .scene.first_bodies import box, capsule, ground, sphere
    from .scene.grain import Grain
    from .scene.joints import AxisSpec, JointSpec
    from .scene.scatter import scattered
    from .scene.spec import BodyKind, BodySpec, MaterialSpec, SceneSpec, ShapeKind, ShapeSpec, SolverSettings, Staggering
    from .scenes import plain as scenes
    from .validation.findings import SceneError

__all__ = [
    "AxisSpec",
    "BodyKind",
    "BodySpec",
    "ContactProblem",
    "ContactProblems",
    "EllipticProblem",
    "Found",
    "Frame",
    "FrameStatistics",
    "Friction",
    "GlobalForm",
    "Grain",
    "JointSpec",
    "LcpResult",
    "LocalForm",
    "MaterialSpec",
    "Residual",
    "Residuals",
    "Result",
    "Results",
    "Rounding",
    "SceneError",
    "SceneSpec",
    "Settled",
    "ShapeKind",
    "ShapeSpec",
    "Simulation",
    "SolverSettings",
    "Staggering",
    "Statistics",
    "Status",
    "box",
    "capsule",
    "configurations",
    "creep_problem",
    "ground",
    "lcp_residual",
    "residuals",
    "scattered",
    "scenes",
    "settle",
    "solve",
    "solve_lcp",
    "solve_many",
    "sphere",
]

_HOMES = {
    "AxisSpec": "scene.joints",
    "BodyKind": "scene.spec",
    "BodySpec": "scene.spec",
    "ContactProblem": "problem.contact_problem",
    "ContactProblems": "laboratory.many_problems",
    "EllipticProblem": "problem.ellipse",
    "Found": "problem.result",
    "Frame": "dynamics.model.frame",
    "FrameStatistics": "dynamics.model.frame",
    "Friction": "problem.friction",
    "GlobalForm": "problem.forms",
    "Grain": "scene.grain",
    "JointSpec": "scene.joints",
    "LcpResult": "laboratory.lcp",
    "LocalForm": "problem.forms",
    "MaterialSpec": "scene.spec",
    "Residual": "problem.accuracy",
    "Residuals": "problem.accuracy",
    "Result": "problem.result",
    "Results": "problem.result",
    "Rounding": "problem.rounding",
    "SceneError": "validation.findings",
    "SceneSpec": "scene.spec",
    "Settled": "dynamics.settle",
    "ShapeKind": "scene.spec",
    "ShapeSpec": "scene.spec",
    "Simulation": "dynamics.simulation",
    "SolverSettings": "scene.spec",
    "Staggering": "scene.spec",
    "Statistics": "problem.result",
    "Status": "problem.result",
    "box": "scene.first_bodies",
    "capsule": "scene.first_bodies",
    "creep_problem": "published.baraff_1991.creep",
    "ground": "scene.first_bodies",
    "lcp_residual": "laboratory.lcp",
    "residuals": "problem.accuracy",
    "scattered": "scene.scatter",
    "settle": "dynamics.settle",
    "solve": "laboratory.solve",
    "solve_lcp": "laboratory.lcp",
    "solve_many": "laboratory.solve_many",
    "sphere": "scene.first_bodies",
}


def __getattr__(name: str):
    if name == "scenes":
        return import_module(".scenes", __name__)
    if name == "configurations":
        return import_module(".problem.configurations", __name__)
    if name in _HOMES:
        value = globals()[name] = getattr(import_module(f".{_HOMES[name]}", __name__), name)
        return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
