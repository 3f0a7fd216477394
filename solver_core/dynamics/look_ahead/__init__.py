# SPDX-License-Identifier: GPL-3.0-or-later
"""What a motion runs into before the step ends: contacts that have to join, impacts that cut the step."""
