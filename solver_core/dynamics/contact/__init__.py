# SPDX-License-Identifier: GPL-3.0-or-later
"""The contacts of a step: found, kept, and made a contact problem."""
