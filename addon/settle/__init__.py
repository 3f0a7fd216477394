# SPDX-License-Identifier: GPL-3.0-or-later
"""*Settle*: drops objects until they rest, and leaves them there."""
