# SPDX-License-Identifier: GPL-3.0-or-later
"""The published algorithms, one a file."""
