"""The contacts that collision detection hands out."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["NO_CONTACTS", "NO_OVERLAP", "ContactSet", "Overlap", "merged"]

Array = NDArray[np.float64]
Indices = NDArray[np.int64]


class Overlap(NamedTuple):
    """An overlap of two bodies: its depth in m, the same in half extents of the smaller body, and which bodies, -1 for none."""

    depth: float
    ratio: float
    pair: tuple[int, int]


NO_OVERLAP = Overlap(0.0, 0.0, (-1, -1))


@dataclass(frozen=True)
class ContactSet:
    """Contacts sorted by (body_a, body_b, feature).

    body_a, body_b: (m,) with a < b. point: (m, 3) m, world, midway between the surfaces. normal: (m, 3) unit, world, from a
    to b. gap: (m,) m between the surfaces along the normal, negative for an overlap. feature: (m,) what touches what within
    the pair, unique there and the same as long as the same features touch.
    """

    body_a: Indices
    body_b: Indices
    point: Array
    normal: Array
    gap: Array
    feature: NDArray[np.uint64]

    def __len__(self) -> int:
        return len(self.gap)

    def without(self, left_out: NDArray[np.bool_]) -> ContactSet:
        """All contacts but those left out (m,)."""
        return self.chosen(~left_out)

    def chosen(self, rows: Indices | NDArray[np.bool_]) -> ContactSet:
        """The contacts in the rows given, in their order."""
        return ContactSet(*(getattr(self, field.name)[rows] for field in fields(self)))

    def deepest(self, size: Array) -> Overlap:
        """The overlap that is deepest for the size of the smaller body; size: (n,) m, half extents of all bodies."""
        ratio = -self.gap / np.minimum(size[self.body_a], size[self.body_b])
        if not ratio.max(initial=0.0) > 0.0:
            return NO_OVERLAP
        row = int(np.argmax(ratio))
        return Overlap(-float(self.gap[row]), float(ratio[row]), (int(self.body_a[row]), int(self.body_b[row])))


NO_CONTACTS = ContactSet(
    np.zeros(0, np.int64),
    np.zeros(0, np.int64),
    np.zeros((0, 3)),
    np.zeros((0, 3)),
    np.zeros(0),
    np.zeros(0, np.uint64),
)


def merged(contacts: ContactSet, more: ContactSet) -> ContactSet:
    """Both sets; of contacts of the same features, those of the second."""
    if not len(more):
        return contacts
    names = ("body_a", "body_b", "point", "normal", "gap", "feature")
    both = {name: np.concatenate([getattr(more, name), getattr(contacts, name)]) for name in names}
    order = np.lexsort((both["feature"], both["body_b"], both["body_a"]))
    keys = [both[name][order] for name in ("body_a", "body_b", "feature")]
    new = np.ones(len(order), np.bool_)
    # the sort is stable, so the second set's contact is the first of its features
    new[1:] = (keys[0][1:] != keys[0][:-1]) | (keys[1][1:] != keys[1][:-1]) | (keys[2][1:] != keys[2][:-1])
    return ContactSet(*(both[name][order[new]] for name in names))
