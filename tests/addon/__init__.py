# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of the add-on, in Blender as a Python module."""
