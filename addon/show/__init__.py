# SPDX-License-Identifier: GPL-3.0-or-later
"""A bake in the viewport, the timeline and its statistics."""
