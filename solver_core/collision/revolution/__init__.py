# SPDX-License-Identifier: GPL-3.0-or-later
"""What cylinders and cones meet: polyhedra, each other, meshes."""
