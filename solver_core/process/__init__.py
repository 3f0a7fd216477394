# SPDX-License-Identifier: GPL-3.0-or-later
"""Processes and files: exit status, console, locks, memory."""
