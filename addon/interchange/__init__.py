# SPDX-License-Identifier: GPL-3.0-or-later
"""Exchange of scenes with other tools: descriptions of Blender's objects, and Blender objects from descriptions."""
