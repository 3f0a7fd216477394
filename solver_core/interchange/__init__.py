# SPDX-License-Identifier: GPL-3.0-or-later
"""Scenes of other tools: UsdPhysics, and KHR_physics_rigid_bodies in glTF; both by way of one description, a `Described`."""
