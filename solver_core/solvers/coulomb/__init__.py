# SPDX-License-Identifier: GPL-3.0-or-later
"""Proposals for contact with Coulomb friction, and the cascade that orders them. Staggered Projections accept them."""
