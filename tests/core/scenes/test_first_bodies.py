# SPDX-License-Identifier: GPL-3.0-or-later
"""Bodies for scripts are what their names say, and odd sizes are refused by name."""

from __future__ import annotations

import numpy as np
import pytest

import solver_core as sc
from solver_core.scene.spec import SolverSettings
from solver_core.validation.scene import validate


def test_a_scene_of_them_is_valid():
    bodies = sc.ground(), sc.box("Box", (1, 2, 3)), sc.sphere("Ball", 0.5, (3, 0, 1)), sc.capsule("Rod", 0.1, 0.5, (6, 0, 1))
    validate(sc.SceneSpec(bodies), SolverSettings())


def test_a_capsule_is_as_long_as_its_height():
    shape = sc.capsule("Rod", 0.1, 0.5).shape
    assert np.ptp(shape.vertices[:, 2]) + 2.0 * shape.margin == pytest.approx(0.5)
    # one as long as it is wide is a sphere
    assert len(sc.capsule("Ball", 0.1, 0.2).shape.vertices) == 1


def test_masses_are_one_kilogram_unless_something_else_is_said():
    assert sc.box("A", (1, 1, 1)).mass == 1.0
    assert sc.box("B", (1, 1, 1), density=500.0).mass is None
    assert sc.box("C", (1, 1, 1), kind=sc.BodyKind.PASSIVE).mass is None
    assert sc.sphere("D", 1.0, mass=3.0, velocity=np.array([1.0, 0.0, 0.0])).mass == 3.0


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda: sc.box("A", (1, 0, 1)), "size"),
        (lambda: sc.box("A", 1.0), "size"),
        (lambda: sc.sphere("A", np.nan), "radius"),
        (lambda: sc.capsule("A", 0.1, 0.1), "height"),
        (lambda: sc.capsule("A", -0.1, 1.0), "radius"),
        (lambda: sc.sphere("A", 1.0, colour="red"), "colour"),
    ],
)
def test_odd_arguments_are_refused_by_name(make, name):
    with pytest.raises((ValueError, TypeError), match=name):
        make()
