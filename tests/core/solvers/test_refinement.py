# SPDX-License-Identifier: GPL-3.0-or-later
"""A structure that is solved is refined to a fixed point, as far as that costs little."""

from __future__ import annotations

import numpy as np

import solver_core as sc
from solver_core.solvers.coulomb.cascade import ACCELERATED, solve_system
from solver_core.solvers.criteria import Request
from solver_core.solvers.effort import DONE, effort_of_a_step

from ..contact_problems import rigid_jacobian

MASS, EDGE = 0.7, 0.09  # kg and m, of a cube
VELOCITY = (0.150109021, 4e-9, 0.706332604, 0.000521705, 1.47664117, -0.000217639)  # m/s and rad/s, without impulses
# Two facets of a drum, by the axes of their contacts.
LOWER = np.array([[0.110229221, 0.0, 0.993906192], [0.0, 1.0, 0.0], [-0.993906192, 0.0, 0.110229221]])
UPPER = np.array([[0.978315909, 0.0, -0.20711828], [0.0, 1.0, 0.0], [0.20711828, 0.0, 0.978315909]])
# Of each contact, the lever from the center of the cube [m], the bias [m/s] and the impulse of the last step [N s]. Two edges
# of the cube rest on the facets. One end of the upper edge has two contacts.
ON_LOWER = (
    ((0.037537941, 0.045000013, -0.05139424), (-0.675469836, 0.0, 0.001937907), (0.006291513, -0.000124759, 0.001996392)),
    ((0.037537968, -0.044999987, -0.051394243), (-0.675469795, 0.0, 0.001937907), (0.005988758, 0.000124732, 0.002813843)),
)
ON_UPPER = (
    ((-0.037537847, 0.044999987, 0.051389205), (-0.061307456, 0.0, -0.81432461), (0.001891509, 7e-9, 0.000945754)),
    ((-0.037537847, -0.044999364, 0.051389206), (-0.061307458, 0.0, -0.81432461), (0.001338813, 5e-9, 0.000669406)),
    ((-0.037537847, -0.045000013, 0.051389206), (-0.061307458, 0.0, -0.81432461), (0.001338801, 5e-9, 0.0006694)),
)
SLACK = (0.000222897, 0.000222913, 0.0, 0.0, 0.0)  # m/s, of the gaps of the contacts
FEW = 40  # factorizations; there are 6 unknown velocities and 5 contacts


def cube_in_a_drum() -> tuple[sc.ContactProblem, np.ndarray]:
    """Return the problem of a cube at rest between two facets of a drum that rotates, and the impulses of the last step."""
    mass = np.diag([MASS] * 3 + [MASS / 6.0 * EDGE**2] * 3)
    rows = [(LOWER, *contact) for contact in ON_LOWER] + [(UPPER, *contact) for contact in ON_UPPER]
    jacobian = np.array([rigid_jacobian(np.array(arm), axes) for axes, arm, _, _ in rows])
    ends = [-1] * len(rows), [0] * len(rows)
    problem = sc.ContactProblem.from_bodies([mass], VELOCITY, ends, (np.zeros_like(jacobian), jacobian), 0.5)
    bias, impulse = np.array([row[2] for row in rows]), np.array([row[3] for row in rows])
    return problem.system._replace(bias=bias, slack=np.array(SLACK), least_scale=9.81 / 240.0), impulse


def test_a_solved_structure_is_not_refined_for_thousands_of_factorizations():
    """Redundant contacts exchange a load there, and hundreds of proximal steps reduce the error by a tenth."""
    system, impulse = cube_in_a_drum()
    effort, velocity = effort_of_a_step(), np.empty_like(system.velocity)
    request = Request(1e-6, False, 200, 0)
    answer = solve_system(system, request, ACCELERATED, effort, impulse, velocity, np.zeros((200, 3)))
    assert answer.status == sc.Status.SOLVED
    assert effort[DONE] <= FEW
