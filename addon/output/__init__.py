# SPDX-License-Identifier: GPL-3.0-or-later
"""What a bake becomes in the scene: keyframes, and objects of contacts and pieces for geometry nodes."""
