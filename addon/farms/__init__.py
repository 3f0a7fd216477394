# SPDX-License-Identifier: GPL-3.0-or-later
"""Jobs for render farms, a bake followed by rendering of single frames, in the formats of several farm managers."""
