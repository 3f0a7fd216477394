# SPDX-License-Identifier: GPL-3.0-or-later
"""The properties that users set, and presets for them."""
