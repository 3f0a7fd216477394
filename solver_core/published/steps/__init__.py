# SPDX-License-Identifier: GPL-3.0-or-later
"""Steps of a simulation solved by a published method."""
