# SPDX-License-Identifier: GPL-3.0-or-later
"""The scene as a `SceneSpec`: bodies, shapes, joints, motion, fields and gravity."""
