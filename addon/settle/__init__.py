# SPDX-License-Identifier: GPL-3.0-or-later
"""*Settle*: objects dropped until they rest, and left there."""
