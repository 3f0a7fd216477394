# SPDX-License-Identifier: GPL-3.0-or-later
"""Convex parts of a mesh by CoACD, for contact in place of the mesh (Wei et al. 2022, ACM Trans. Graph. 41, 42)."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from .solid import FractureError

__all__ = ["ConvexParts", "PartsOrder", "convex_parts"]

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

# On Windows coacd needs OpenMP of Visual C++ (vcomp140.dll). Blender brings it in a folder beside that of its version.
BLENDERS_LIBRARIES = Path(sys.base_prefix).parent.parent / "blender.crt"


@dataclass(frozen=True)
class PartsOrder:
    """A mesh and how to part it.

    Attributes
    ----------
    vertices : (n, 3) m
    triangles : (t, 3); an open mesh is closed by voxels first
    concavity : the largest distance of a part's surface from its hull, relative to the size of the mesh
    most : the largest number of parts, 0 for any
    seed : of the random numbers
    """

    vertices: Array
    triangles: Indices
    concavity: float = 0.05
    most: int = 0
    seed: int = 0


@dataclass(frozen=True)
class ConvexParts:
    """The convex parts of a mesh, one after the other.

    Attributes
    ----------
    vertices : (n, 3) m
    triangles : (t, 3) vertices, numbered in all parts
    vertex_ends, triangle_ends : (m,) where each part ends among vertices and triangles
    """

    vertices: Array
    triangles: Indices
    vertex_ends: Indices
    triangle_ends: Indices

    def __len__(self) -> int:
        return len(self.vertex_ends)

    def part(self, number: int) -> tuple[Array, Indices]:
        """The vertices (k, 3) m of a part, and its triangles (l, 3) as numbers among them."""
        begin = int(self.vertex_ends[number - 1]) if number else 0
        first = int(self.triangle_ends[number - 1]) if number else 0
        return self.vertices[begin : self.vertex_ends[number]], self.triangles[first : self.triangle_ends[number]] - begin


def convex_parts(order: PartsOrder) -> ConvexParts:
    """Part a mesh.

    Raises FractureError if the mesh has no faces or no size, or no part was found. Raises ImportError without coacd.
    """
    if sys.platform == "win32" and BLENDERS_LIBRARIES.is_dir():
        os.add_dll_directory(str(BLENDERS_LIBRARIES))
    try:
        # only in the process that parts a mesh, for a crash of it ends the process
        import coacd
    except OSError as error:
        raise ImportError(f"coacd cannot be loaded: {error}") from error
    if len(order.triangles) == 0:
        raise FractureError("has no faces, so it has no parts")
    if not np.isfinite(order.vertices).all():
        number = int(np.flatnonzero(~np.isfinite(order.vertices).all(axis=1))[0])
        raise FractureError(f"has a vertex whose position is not a number (vertex {number})")
    if not float(np.ptp(order.vertices[order.triangles.ravel()], axis=0).max()) > 0.0:
        raise FractureError("has no size: all its vertices are in one place")
    coacd.set_log_level("error")
    mesh = coacd.Mesh(order.vertices, order.triangles.astype(np.int32))
    found = coacd.run_coacd(mesh, threshold=order.concavity, max_convex_hull=order.most or -1, seed=order.seed)
    found = [(np.asarray(vertices), np.asarray(triangles)) for vertices, triangles in found if len(triangles)]
    if not found:
        raise FractureError("has no convex parts: give it a thickness")
    vertex_ends = np.cumsum([len(vertices) for vertices, _ in found])
    begins = np.concatenate([[0], vertex_ends[:-1]])
    return ConvexParts(
        np.concatenate([vertices for vertices, _ in found]).astype(np.float64),
        np.concatenate([triangles + begin for (_, triangles), begin in zip(found, begins, strict=True)]).astype(np.int64),
        vertex_ends.astype(np.int64),
        np.cumsum([len(triangles) for _, triangles in found]).astype(np.int64),
    )
