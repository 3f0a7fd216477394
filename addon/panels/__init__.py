# SPDX-License-Identifier: GPL-3.0-or-later
"""The panels, menus and operators of Stiction."""
