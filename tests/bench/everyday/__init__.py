# SPDX-License-Identifier: GPL-3.0-or-later
"""Scenes of everyday motion, each with what physics says of it."""
