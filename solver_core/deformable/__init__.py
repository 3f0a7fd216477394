# SPDX-License-Identifier: GPL-3.0-or-later
"""What a body that bends is computed with, found before the first step. Nothing here knows a contact."""
