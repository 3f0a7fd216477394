# SPDX-License-Identifier: GPL-3.0-or-later
"""Force fields: what pushes bodies without touching them, step by step."""
