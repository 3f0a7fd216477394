# SPDX-License-Identifier: GPL-3.0-or-later
"""A bake without Blender: resuming, reports and the certificate."""
