# SPDX-License-Identifier: GPL-3.0-or-later
"""Validation of scenes: every error, by object and field."""
