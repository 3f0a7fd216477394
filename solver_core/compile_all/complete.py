# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether all kernels of today's sources are compiled."""

from __future__ import annotations

from pathlib import Path

from ..compile.ahead import brought, is_complete
from ..compile.stock import sources_of_all

__all__ = ["are_all_in"]


def are_all_in(folder: Path) -> bool:
    """Whether all kernels are in a folder, or came with the package, and can be used here."""
    return any(is_complete(place, sources_of_all()) for place in (folder, *brought()))
