# SPDX-License-Identifier: GPL-3.0-or-later
"""Contacts of meshes with polyhedra and with each other."""
