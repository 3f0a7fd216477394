# SPDX-License-Identifier: GPL-3.0-or-later
"""Contacts of cylinders and cones ("round shapes") with polyhedra, with each other, and with meshes."""
