# SPDX-License-Identifier: GPL-3.0-or-later
"""Contacts of convex polyhedra with each other, with boxes, and with half-spaces."""
