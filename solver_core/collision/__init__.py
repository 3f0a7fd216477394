"""Contacts between bodies: broad phase, narrow phase, manifolds."""

from __future__ import annotations

from .detect import ContactSet, detect

__all__ = ["ContactSet", "detect"]
