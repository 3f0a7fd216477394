# SPDX-License-Identifier: GPL-3.0-or-later
"""Contacts between bodies: broad phase, narrow phase, manifolds."""

from __future__ import annotations

from .contact_set import ContactSet
from .detect import detect

__all__ = ["ContactSet", "detect"]
