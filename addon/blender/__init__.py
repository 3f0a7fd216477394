# SPDX-License-Identifier: GPL-3.0-or-later
"""What knows only Blender: actions, placement, rotations, text in panels, and how objects get their values back."""
