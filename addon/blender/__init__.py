# SPDX-License-Identifier: GPL-3.0-or-later
"""Helpers for Blender data: actions, placement, rotations, text in panels, and restoring objects."""
