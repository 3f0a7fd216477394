# SPDX-License-Identifier: GPL-3.0-or-later
"""Everything that is wrong with a scene, at once, by object and field."""
