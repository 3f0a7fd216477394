# SPDX-License-Identifier: GPL-3.0-or-later
"""Scenes for and of other tools: what Blender's objects are described as, and what a description becomes in Blender."""
