# SPDX-License-Identifier: GPL-3.0-or-later
"""Jobs for render farms: a bake, and then a render by frames, in the form that each farm's manager reads."""
