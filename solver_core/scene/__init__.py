# SPDX-License-Identifier: GPL-3.0-or-later
"""A scene as pure data: bodies, shapes, materials, settings, and the allowed values of their fields."""
