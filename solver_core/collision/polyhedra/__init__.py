# SPDX-License-Identifier: GPL-3.0-or-later
"""What convex polyhedra meet: each other, boxes, planes."""
