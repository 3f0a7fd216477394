# SPDX-License-Identifier: GPL-3.0-or-later
"""How single bodies move: rotations, free flight, given paths, meshes that deform."""
