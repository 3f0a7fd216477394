# SPDX-License-Identifier: GPL-3.0-or-later
"""A body has the mass properties that it is given, and those of its homogeneous shape for the others."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from solver_core.geometry.body_mass import body_mass_properties, radius_of_link
from solver_core.geometry.compounds import parts
from solver_core.scene.spec import ShapeKind, ShapeSpec

from ..bodies import body, box_inertia

SIZE = (0.2, 0.3, 0.5)


def test_nothing_given_is_the_homogeneous_box():
    found = body_mass_properties(body(size=SIZE, mass=3.0))
    assert found.center_of_mass == pytest.approx([0, 0, 0], abs=1e-15)
    assert np.allclose(found.inertia, box_inertia(SIZE, 3.0))


def test_a_center_of_mass_takes_the_inertia_with_it_by_the_parallel_axis_theorem():
    found = body_mass_properties(body(size=SIZE, mass=3.0, center_of_mass=np.array([0.0, 0.0, -0.2])))
    assert found.center_of_mass == pytest.approx([0, 0, -0.2])
    assert np.allclose(found.inertia, box_inertia(SIZE, 3.0) + 3.0 * 0.04 * np.diag([1, 1, 0]))


def test_an_inertia_is_taken_as_it_is_given_wherever_the_center_is():
    own = np.array([[2.0, 0.1, 0.0], [0.1, 2.5, 0.0], [0.0, 0.0, 3.0]])
    found = body_mass_properties(body(inertia=own, center_of_mass=np.array([1.0, 2.0, 3.0])))
    assert np.array_equal(found.inertia, own)
    assert found.center_of_mass == pytest.approx([1, 2, 3])


def test_a_density_weighs_the_shape_whatever_else_is_given():
    found = body_mass_properties(body(size=SIZE, mass=None, density=1000.0, center_of_mass=np.zeros(3)))
    assert found.mass == pytest.approx(30.0)


def test_a_link_has_no_shape_at_all():
    link = replace(body(inertia=np.diag([1.0, 2.0, 2.5]), mass=4.0), shape=ShapeSpec(ShapeKind.NONE))
    found = body_mass_properties(link)
    assert (found.mass, found.volume, found.closed) == (4.0, 0.0, False)
    assert found.center_of_mass.tolist() == [0, 0, 0]
    assert list(parts(link.shape)) == []


def test_a_link_is_as_large_as_its_mass_is_spread():
    # of a ball the mean square distance is 3/5 r^2
    assert radius_of_link(body(mass=2.0, inertia=0.4 * 2.0 * 0.25 * np.eye(3))) == pytest.approx(0.5 * np.sqrt(0.6))


@pytest.mark.parametrize("lacks", ["mass", "inertia"])
def test_a_link_that_lacks_its_mass_or_its_inertia_has_no_properties(lacks):
    given = {"mass": 1.0, "inertia": np.eye(3)} | {lacks: None}
    link = replace(body(**given), shape=ShapeSpec(ShapeKind.NONE))
    with pytest.raises(ValueError, match="needs a mass and an inertia"):
        body_mass_properties(link)
