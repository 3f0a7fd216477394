# SPDX-License-Identifier: GPL-3.0-or-later
"""Meshes for tests and benchmarks: vertices (n, 3) m and triangles (t, 3), outward where they are closed."""

from __future__ import annotations

import itertools

import numpy as np

CUBE = np.array(list(itertools.product((-0.5, 0.5), repeat=3)))
CUBE_TRIANGLES = np.array(
    [
        (0, 1, 3),
        (0, 3, 2),
        (4, 6, 7),
        (4, 7, 5),
        (0, 4, 5),
        (0, 5, 1),
        (2, 3, 7),
        (2, 7, 6),
        (0, 2, 6),
        (0, 6, 4),
        (1, 5, 7),
        (1, 7, 3),
    ],
    dtype=np.int32,
)


def triangulated(quads):
    """(2 q, 3) triangles of (q, 4) quads."""
    quads = np.asarray(quads)
    return np.concatenate([quads[:, :3], quads[:, [0, 2, 3]]]).astype(np.int32)


def sheet(cells, size, height=None):
    """An open square of cells x cells quads in the plane z = height(x, y), with its normals up."""
    at = np.linspace(-0.5 * size, 0.5 * size, cells + 1)
    x, y = np.meshgrid(at, at, indexing="ij")
    z = np.zeros_like(x) if height is None else height(x, y)
    i, j = (index.ravel() for index in np.meshgrid(np.arange(cells), np.arange(cells), indexing="ij"))
    first = i * (cells + 1) + j
    quads = np.stack([first, first + cells + 1, first + cells + 2, first + 1], axis=1)
    return np.stack([x, y, z], axis=-1).reshape(-1, 3), triangulated(quads)


def bumpy(cells, size, height, seed=0):
    """A sheet with random heights of the standard deviation given."""
    random = np.random.default_rng(seed)
    return sheet(cells, size, lambda x, y: height * random.normal(size=x.shape))


def torus(major, minor, around, across):
    """A closed torus about the z axis."""
    u, v = np.meshgrid(np.arange(around), np.arange(across), indexing="ij")
    next_u, next_v = (u + 1) % around, (v + 1) % across
    a, b = 2.0 * np.pi * u / around, 2.0 * np.pi * v / across
    out = major + minor * np.cos(b)
    points = np.stack([out * np.cos(a), out * np.sin(a), minor * np.sin(b)], axis=-1).reshape(-1, 3)
    corners = [(u, v), (next_u, v), (next_u, next_v), (u, next_v)]
    return points, triangulated(np.stack([p * across + q for p, q in corners], axis=-1).reshape(-1, 4))


def cup(radius, height, wall, around):
    """A closed cup about the z axis from z = 0, open at the top, its walls and its bottom as thick as given."""
    profile = [(radius, 0.0), (radius, height), (radius - wall, height), (radius - wall, wall)]
    angle = 2.0 * np.pi * np.arange(around) / around
    rings = np.array([[(r * np.cos(a), r * np.sin(a), z) for a in angle] for r, z in profile])
    points = np.concatenate([rings.reshape(-1, 3), [(0.0, 0.0, 0.0), (0.0, 0.0, wall)]])
    first, last, low = np.arange(around), np.arange(3 * around, 4 * around), 4 * around
    quads = between_rings(rings, 3)[:, ::-1]
    bottom = np.stack([np.full(around, low), np.roll(first, -1), first], axis=1)
    inside = np.stack([np.full(around, low + 1), last, np.roll(last, -1)], axis=1)
    return points, np.concatenate([triangulated(quads), bottom, inside]).astype(np.int32)


def uv_sphere(radius, around, rings):
    """A ball as Blender makes it, with its poles on the z axis."""
    polar, turn = np.pi * np.arange(1, rings) / rings, 2.0 * np.pi * np.arange(around) / around
    ring = np.stack(
        [
            np.outer(np.sin(polar), np.cos(turn)),
            np.outer(np.sin(polar), np.sin(turn)),
            np.outer(np.cos(polar), np.ones(around)),
        ],
        axis=-1,
    )
    vertices = np.concatenate([[[0.0, 0.0, 1.0]], ring.reshape(-1, 3), [[0.0, 0.0, -1.0]]]) * radius
    i = np.arange(around)
    after, last = (i + 1) % around, 1 + (rings - 2) * around
    caps = [np.stack([0 * i, 1 + i, 1 + after], axis=1), np.stack([last + after, last + i, 0 * i + len(vertices) - 1], axis=1)]
    bands = []
    for first in range(1, last, around):
        a, b = first + i, first + after
        bands += [np.stack([a, a + around, b], axis=1), np.stack([b, a + around, b + around], axis=1)]
    return vertices, np.concatenate([*caps, *bands]).astype(np.int32)


def blocks(xs, ys, zs, filled):
    """The closed surface of the cells of a grid that are filled: (len(xs) - 1, len(ys) - 1, len(zs) - 1) bool."""
    numbers: dict[tuple[int, ...], int] = {}
    quads = []
    for cell in zip(*np.nonzero(filled), strict=True):
        for axis, side in itertools.product(range(3), (0, 1)):
            beside = np.array(cell)
            beside[axis] += 2 * side - 1
            if (beside >= 0).all() and (beside < filled.shape).all() and filled[tuple(beside)]:
                continue
            quad = []
            for p, q in ((0, 0), (1, 0), (1, 1), (0, 1)):
                corner = np.array(cell)
                corner[axis] += side
                corner[(axis + 1) % 3] += p
                corner[(axis + 2) % 3] += q
                quad.append(numbers.setdefault(tuple(corner.tolist()), len(numbers)))
            quads.append(quad if side else quad[::-1])
    points = np.array([(xs[i], ys[j], zs[k]) for i, j, k in numbers], dtype=np.float64)
    return points, triangulated(quads)


def chair():
    """Four legs, a seat of 0.45 x 0.45 x 0.04 at a height of 0.43, and a back up to 1.0; its origin on the floor."""
    filled = np.zeros((3, 3, 3), dtype=bool)
    filled[::2, ::2, 0] = True
    filled[:, :, 1] = True
    filled[:, 2, 2] = True
    return blocks([-0.225, -0.18, 0.18, 0.225], [-0.225, -0.185, 0.185, 0.225], [0.0, 0.43, 0.47, 1.0], filled)


PITCH = 0.01


def thread(radius, gap=0.0, around=40, a_turn=8, turns=8):
    """The rings of a thread of eight turns about z, (65, 40, 3) m, from z = 0: 4 mm deep, moved outwards by a gap."""
    angle = 2.0 * np.pi * np.arange(around) / around
    z = PITCH / a_turn * np.arange(a_turn * turns + 1)[:, None]
    out = radius + gap + 0.004 * (1.0 - np.abs(2.0 * ((z / PITCH - angle / (2.0 * np.pi)) % 1.0) - 1.0))
    return np.stack([out * np.cos(angle), out * np.sin(angle), np.broadcast_to(z, out.shape)], axis=-1)


def between_rings(rings, count):
    """Quads from each of `count` rings of as many points to the next, that after the last being the first."""
    around = rings.shape[1]
    i, j = (index.ravel() for index in np.meshgrid(np.arange(count), np.arange(around), indexing="ij"))
    above, beside = (i + 1) % len(rings), (j + 1) % around
    return np.stack([i * around + j, i * around + beside, above * around + beside, above * around + j], axis=1)


def bolt():
    """A threaded rod of 5,200 triangles, closed."""
    rings = thread(0.02)
    first, last = np.arange(40), len(rings) * 40 - 40 + np.arange(40)
    ends = np.array([[0.0, 0.0, 0.0], [0.0, 0.0, rings[-1, 0, 2]]])
    low = np.full(40, rings.size // 3)
    caps = [np.stack([low, np.roll(first, -1), first], axis=1), np.stack([low + 1, last, np.roll(last, -1)], axis=1)]
    sides = triangulated(between_rings(rings, len(rings) - 1))
    return np.concatenate([rings.reshape(-1, 3), ends]), np.concatenate([sides, *caps]).astype(np.int32)


def nut(gap=0.0004):
    """A ring of 5,360 triangles around the bolt, closed, farther out than its thread by a gap in m."""
    inner = thread(0.02, gap)
    outer = inner[[-1, 0]]
    outer[..., :2] *= 0.04 / np.linalg.norm(outer[..., :2], axis=-1, keepdims=True)
    rings = np.concatenate([inner, outer])
    return rings.reshape(-1, 3), triangulated(between_rings(rings, len(rings))[:, ::-1])


def angle_bracket():
    """An L of three unit cubes."""
    filled = np.array([[[True], [True]], [[True], [False]]])
    return blocks([-0.7, 0.3, 1.3], [-0.7, 0.3, 1.3], [-0.5, 0.5], filled)


def distances(points, triangles):
    """(n,) of points (n, 3) from triangles (t, 3, 3): heights over faces, and distances from edges."""
    p = points[:, None]
    a, b, c = triangles[:, 0], triangles[:, 1], triangles[:, 2]
    normal = np.cross(b - a, c - a)
    height = ((p - a) * normal).sum(-1) / np.linalg.norm(normal, axis=-1)
    over = np.ones(height.shape, dtype=bool)
    best = np.full(height.shape, np.inf)
    for u, v in ((a, b), (b, c), (c, a)):
        along = np.clip(((p - u) * (v - u)).sum(-1) / ((v - u) ** 2).sum(-1), 0.0, 1.0)
        best = np.minimum(best, np.linalg.norm(p - u - along[..., None] * (v - u), axis=-1))
        over &= (np.cross(v - u, p - u) * normal).sum(-1) >= 0.0
    return np.where(over, np.minimum(np.abs(height), best), best).min(axis=1)
