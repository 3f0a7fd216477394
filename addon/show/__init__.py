# SPDX-License-Identifier: GPL-3.0-or-later
"""Display of a bake in the viewport, the timeline and statistics; live simulation."""
