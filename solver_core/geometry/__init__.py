# SPDX-License-Identifier: GPL-3.0-or-later
"""Convex hulls and the table of collision shapes."""

from __future__ import annotations

from .hulls import Hull, convex_hull
from .shapes import CONE, CYLINDER, HULL, MESH, PLANE, ShapeTable, build_shapes

__all__ = ["CONE", "CYLINDER", "HULL", "MESH", "PLANE", "Hull", "ShapeTable", "build_shapes", "convex_hull"]
