# SPDX-License-Identifier: GPL-3.0-or-later
"""Conversion of the contacts of a frame to the arrays of a chunk and back. Content of files is checked before use."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..dynamics.model.frame import NOTHING_SCRAPED, ContactState, FrameContacts, FrameImpacts, FrameScrapes

__all__ = ["contacts_from", "contacts_to_arrays"]

# The type and the row width of each array.
CONTACT_ARRAYS = {
    "body_a": (np.int32, ()),
    "body_b": (np.int32, ()),
    "point": (np.float32, (3,)),
    "normal": (np.float32, (3,)),
    "force": (np.float32, ()),
    "friction": (np.float32, (3,)),
    "slip": (np.float32, (3,)),
    "gap": (np.float32, ()),
    "mu": (np.float32, ()),
    "ellipse": (np.float32, (2, 3)),
    "state": (np.uint8, ()),
}
IMPACT_ARRAYS = {
    "time": (np.float64, ()),
    "body_a": (np.int32, ()),
    "body_b": (np.int32, ()),
    "point": (np.float32, (3,)),
    "normal": (np.float32, (3,)),
    "impulse": (np.float32, ()),
    "speed": (np.float32, ()),
    "energy": (np.float32, ()),
}
SCRAPE_ARRAYS = {
    "time": (np.float64, ()),
    "body_a": (np.int32, ()),
    "body_b": (np.int32, ()),
    "point": (np.float32, (3,)),
    "spread": (np.float32, (3,)),
    "normal": (np.float32, (3,)),
    "slip": (np.float32, (3,)),
    "impulse": (np.float32, ()),
    "energy": (np.float32, ()),
    "duration": (np.float32, ()),
}


def contacts_to_arrays(contacts: FrameContacts) -> dict[str, NDArray[Any]]:
    """Return the arrays of a frame's contacts, with the impacts as impact.name and the scrapes as scrape.name."""
    impacts = {f"impact.{name}": getattr(contacts.impacts, name) for name in IMPACT_ARRAYS}
    scrapes = {f"scrape.{name}": getattr(contacts.scrapes, name) for name in SCRAPE_ARRAYS}
    return {name: getattr(contacts, name) for name in CONTACT_ARRAYS} | impacts | scrapes


def contacts_from(arrays: Mapping[str, NDArray[Any]], bodies: int) -> FrameContacts:
    """Return the contacts in arrays of `contacts_to_arrays`, for a scene with this number of bodies.

    Caches of earlier versions lack some arrays. Without "ellipse", all friction is isotropic. Without "impact.energy", energies
    are computed for impacts without restitution.

    Raises ValueError that names the invalid array.
    """
    if "ellipse" not in arrays and "mu" in arrays:
        arrays = {**arrays, "ellipse": np.zeros((*arrays["mu"].shape, 2, 3), np.float32)}
    if "impact.energy" not in arrays and {"impact.impulse", "impact.speed"} <= set(arrays):
        arrays = {**arrays, "impact.energy": np.float32(0.5) * arrays["impact.impulse"] * arrays["impact.speed"]}
    impacts = FrameImpacts(**checked(arrays, IMPACT_ARRAYS, "impact.", bodies))
    # Caches of earlier versions have no scrapes.
    has_scrapes = any(name.startswith("scrape.") for name in arrays)
    scrapes = FrameScrapes(**checked(arrays, SCRAPE_ARRAYS, "scrape.", bodies)) if has_scrapes else NOTHING_SCRAPED
    contacts = FrameContacts(**checked(arrays, CONTACT_ARRAYS, "", bodies), impacts=impacts, scrapes=scrapes)
    if not np.isin(contacts.state, list(ContactState)).all():
        raise ValueError("array 'state' has values that are no states of contacts")
    return contacts


def checked(arrays: Mapping[str, NDArray[Any]], expected: Mapping[str, Any], prefix: str, bodies: int) -> dict[str, Any]:
    rows = None
    found = {}
    for name, (dtype, width) in expected.items():
        array = arrays.get(prefix + name)
        if array is None:
            raise ValueError(f"there is no array {prefix + name!r}")
        rows = len(array) if rows is None and array.ndim else rows
        if array.dtype != dtype or array.shape != (rows, *width):
            raise ValueError(f"array {prefix + name!r} is of {array.dtype} and shape {array.shape}")
        if name in ("body_a", "body_b") and not ((array >= 0) & (array < bodies)).all():
            raise ValueError(f"array {prefix + name!r} names bodies that the scene of {bodies} does not have")
        found[name] = array
    return found
