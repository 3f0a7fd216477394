# SPDX-License-Identifier: GPL-3.0-or-later
"""Contacts as points and lines: location, normal force, friction force, and friction cone.

The cone is elliptic for a surface with a grain.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...solver_core.dynamics.model.frame import ContactState, FrameContacts

__all__ = ["COLOURS", "Drawing", "Wanted", "draw_contacts", "fitting_length"]

Singles = NDArray[np.float32]
Flags = NDArray[np.bool_]

# Distinguishable with color vision deficiency (Okabe and Ito).
COLOURS = {
    ContactState.SEPARATING: (0.75, 0.75, 0.75, 0.6),
    ContactState.STICKING: (0.34, 0.71, 0.91, 1.0),
    ContactState.SLIDING: (0.90, 0.62, 0.0, 1.0),
}
NORMALS_FADED, CONES_FADED = 0.75, 0.35
CIRCLE = 16
GENERATORS = 4
# Quantile of the forces whose line gets the length of a body, because single forces may be far larger.
MOST_FORCES = 0.95


@dataclass(frozen=True)
class Wanted:
    """Drawing options. force_length: line length for 1 N [m]."""

    normals: bool
    friction: bool
    cones: bool
    force_length: float


@dataclass(frozen=True)
class Drawing:
    """Points (m, 3) with colors (m, 4), and ends of lines (2 n, 3), two each, with colors (2 n, 4)."""

    points: Singles
    point_colours: Singles
    lines: Singles
    line_colours: Singles


def draw_contacts(contacts: FrameContacts, wanted: Wanted, on: Flags, only_on: bool) -> Drawing:
    """Return the drawing of a frame's contacts.

    on: (bodies,) bodies on which forces are shown; on the second body if both or neither are marked. only_on: leave out the
        contacts of all other bodies.
    """
    a, b = contacts.body_a, contacts.body_b
    rows = np.flatnonzero(on[a] | on[b]) if only_on else np.arange(len(contacts))
    state = contacts.state[rows]
    points = contacts.point[rows]
    colours = np.array([COLOURS[one] for one in ContactState], dtype=np.float32)[state]
    sign = np.where(on[a[rows]] & ~on[b[rows]], -1.0, 1.0)[:, None]
    bears = state != ContactState.SEPARATING
    reach = wanted.force_length * contacts.force[rows]
    axis = sign * contacts.normal[rows]
    ends: list[NDArray[np.floating]] = []
    shades: list[NDArray[np.floating]] = []

    def add(begin: NDArray[np.floating], end: NDArray[np.floating], alpha: float) -> None:
        ends.append(np.stack([begin, end], axis=1).reshape(-1, 3))
        faded = colours[bears] * [1.0, 1.0, 1.0, alpha]
        shades.append(np.repeat(faded, 2 * len(begin) // max(1, int(bears.sum())), axis=0))

    starts = points[bears]
    if wanted.normals:
        add(starts, starts + reach[bears, None] * axis[bears], NORMALS_FADED)
    if wanted.friction:
        add(starts, starts + wanted.force_length * (sign * contacts.friction[rows])[bears], 1.0)
    if wanted.cones and bears.any():
        mu, ellipse = contacts.mu[rows][bears], contacts.ellipse[rows][bears]
        add(*cones(starts, axis[bears], reach[bears], semi_axes(axis[bears], mu, ellipse)), CONES_FADED)
    empty = np.zeros((0, 3)), np.zeros((0, 4))
    return Drawing(
        points=points.astype(np.float32),
        point_colours=colours,
        lines=np.concatenate([empty[0], *ends]).astype(np.float32),
        line_colours=np.concatenate([empty[1], *shades]).astype(np.float32),
    )


def semi_axes(axis: Singles, mu: Singles, ellipse: Singles) -> NDArray[np.floating]:
    """Return the two semi-axes (m, 2, 3) of the friction bound at each contact, for a normal force of 1.

    Parameters
    ----------
    axis : (m, 3) unit normals
    mu : (m,) coefficients of contacts without a grain
    ellipse : (m, 2, 3) semi-axes of contacts with a grain, zero for others
    """
    other = np.where(np.abs(axis[:, 2:]) < np.sqrt(0.5), [[0.0, 0.0, 1.0]], [[1.0, 0.0, 0.0]])
    t1 = np.cross(axis, other)
    t1 /= np.linalg.norm(t1, axis=1, keepdims=True)
    circle = mu[:, None, None] * np.stack([t1, np.cross(axis, t1)], axis=1)
    return np.where(ellipse.any(axis=(1, 2))[:, None, None], ellipse, circle)


def cones(
    tip: Singles, axis: Singles, height: Singles, radii: NDArray[np.floating]
) -> tuple[NDArray[np.floating], NDArray[np.floating]]:
    """Return the lines of friction cones: a rim, which is a circle or an ellipse, and lines from the tip to the ends of its
    axes.

    Parameters
    ----------
    at : (m, 3) m, contacts at the tips
    axis : (m, 3) unit normals
    height : (m,) m
    radii : (m, 2, 3) semi-axes of the rim at a height of 1

    Returns
    -------
    Starts and ends (m (circle + generators), 3) in m, contact by contact.
    """
    angle = np.linspace(0.0, 2.0 * np.pi, CIRCLE + 1)[None, :, None]
    around = np.cos(angle) * radii[:, None, 0] + np.sin(angle) * radii[:, None, 1]
    rim = tip[:, None] + height[:, None, None] * (axis[:, None] + around)
    spokes = rim[:, : CIRCLE : CIRCLE // GENERATORS]
    tips = np.broadcast_to(tip[:, None], spokes.shape)
    begin, end = np.concatenate([rim[:, :-1], tips], axis=1), np.concatenate([rim[:, 1:], spokes], axis=1)
    return begin.reshape(-1, 3), end.reshape(-1, 3)


def fitting_length(contacts: FrameContacts, size: float) -> float | None:
    """Return the line length for 1 N at which nearly all forces of a frame have lines of at most `size` [m]; None without
    forces."""
    forces = contacts.force[contacts.state != ContactState.SEPARATING]
    usual_force = float(np.quantile(forces, MOST_FORCES)) if forces.size else 0.0
    return size / usual_force if usual_force > 0.0 else None
