# SPDX-License-Identifier: GPL-3.0-or-later
"""A bake without Blender: how it goes on, what it reports, and its certificate."""
