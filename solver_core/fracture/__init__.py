# SPDX-License-Identifier: GPL-3.0-or-later
"""Fracture of closed meshes into pieces."""
