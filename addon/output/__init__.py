# SPDX-License-Identifier: GPL-3.0-or-later
"""Results of a bake in the scene: keyframes, and objects with contacts, debris and instances for geometry nodes."""
