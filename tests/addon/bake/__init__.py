# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of `addon/bake`, and of whole bakes."""
