# SPDX-License-Identifier: GPL-3.0-or-later
"""Fracture of objects into pieces, and joining them back."""
