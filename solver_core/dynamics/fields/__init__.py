# SPDX-License-Identifier: GPL-3.0-or-later
"""Force fields: forces on bodies without contact, step by step."""
