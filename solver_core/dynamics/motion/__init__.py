# SPDX-License-Identifier: GPL-3.0-or-later
"""Motion of single bodies: rotations, free rotation, prescribed paths, deforming meshes."""
