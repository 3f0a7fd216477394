# SPDX-License-Identifier: GPL-3.0-or-later
"""Matching of proxies to objects by name."""

from __future__ import annotations

import re
from collections.abc import Iterable

__all__ = ["PatternError", "patterns_of", "proxies_among"]

# Suffix of copies in Blender.
COPY = re.compile(r"(.*?)(\.\d{3,})?", re.DOTALL)


class PatternError(ValueError):
    """A name pattern cannot be used."""


def patterns_of(text: str) -> list[str]:
    """Return the patterns in a comma-separated text.

    Raises PatternError if a pattern does not have exactly one * for the object's name.
    """
    patterns = [part.strip() for part in text.split(",") if part.strip()]
    for pattern in patterns:
        if pattern.count("*") != 1 or pattern == "*":
            raise PatternError(f"{pattern!r} needs one * for the name of the object and other characters, as in *_proxy")
    if not patterns:
        raise PatternError("there is no name pattern, such as *_proxy")
    return patterns


def proxies_among(names: Iterable[str], name: str, patterns: Iterable[str]) -> list[str]:
    """Return the names of an object's proxies, in order.

    With the pattern *_proxy, the proxies of Rock are Rock_proxy, Rock_proxy_01 and Rock_proxy_02. A proxy of the copy Rock.001
    is Rock_proxy.001 or Rock.001_proxy. Case is ignored.

    Parameters
    ----------
    names : candidates
    name : of the object
    patterns : each with a * for the name of the object
    """
    copied = COPY.fullmatch(name)
    stem, number = (copied[1], copied[2] or "") if copied is not None else (name, "")
    wanted = []
    for pattern in patterns:
        before, after = (re.escape(part) for part in pattern.split("*"))
        wanted.append(f"{before}{re.escape(stem)}{after}(_\\d+)?{re.escape(number)}")
        wanted.append(f"{before}{re.escape(name)}{after}(_\\d+)?")
    fits = re.compile("|".join(f"(?:{one})" for one in wanted), re.IGNORECASE)
    return sorted(each for each in names if each != name and fits.fullmatch(each))
