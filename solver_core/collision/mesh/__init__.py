# SPDX-License-Identifier: GPL-3.0-or-later
"""What meshes meet: polyhedra and each other."""
