# SPDX-License-Identifier: GPL-3.0-or-later
"""Jointed bodies, connected directly or through others: the contacts between them, and their gaps at rest.

Contacts require their rest offset, and joints require the initial pose. If both act between the same two bodies, they have to
agree on the initial gap. Otherwise each step would solve the conflict exactly, with arbitrary force. Therefore

- bodies connected in all six coordinates have no contacts with each other, because their relative pose cannot change; the
  joints carry all load;
- other bodies that start closer than their rest offset, such as a door in its frame, rest at their initial gap
  (`rest_gaps.py`).

A kinematic body counts as immovable here, because joints to it hold its neighbors just as firmly. But a body that is fixed to a
moving one moves, and keeps its contacts.

When the joints break, the bodies rest at the gap that they have then, until they are farther apart. Jointed bodies that first
touch later, such as the ends of a chain, use the ordinary rest offset.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...collision.contact_set import ContactSet
from ...linalg.disjoint_sets import connected
from ...scene.spec import BodyKind, SceneSpec
from .bodies import Bodies
from .checkpoints import OF_PAIRS
from .rest_gaps import NEAR_ENOUGH, RestGaps, rest_offsets

__all__ = ["HeldTogether"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]


class HeldTogether:
    """The jointed pairs among n bodies.

    rest: the gaps at rest of pairs that start near each other. excluded: (k, 2) sorted pairs that do not collide: those of the
    scene, and those connected in all coordinates.
    """

    def __init__(self, spec: SceneSpec, bodies: Bodies) -> None:
        n = len(spec.bodies)
        self._size, self._of_scene = bodies.model.size, bodies.excluded
        # Bodies that never move belong to the world, the last node. Deforming and flexible bodies are not rigid.
        is_fixed = [body.kind is BodyKind.PASSIVE and body.deformation is None for body in spec.bodies]
        self._node = np.append(np.where(is_fixed, n, np.arange(n)), n)
        # Joints to kinematic bodies count like joints to the world, whether the bodies move or not.
        is_led = [body.kind is BodyKind.ANIMATED and body.deformation is None for body in spec.bodies]
        self._anchor = np.where(np.append(is_led, False), n, self._node)
        deforms = [body.deformation is not None or body.deformable is not None for body in spec.bodies]
        self._deforms = np.array([*deforms, False])
        # The first body of each set: connected by any joints, in all coordinates, and without joints to the world.
        self._touching, self._rigid, self._joined = np.arange(n + 1), np.arange(n + 1), np.arange(n + 1)
        self._neighbours = np.zeros((0, 2), np.int64)
        self.rest = RestGaps.of_scene(n)
        self.excluded = bodies.excluded

    def follow(self, links: Ints, rigid: Flags) -> bool:
        """Update the active joints.

        links: (j, 2) bodies, -1 for the world. rigid: (j,) joints that lock all six coordinates. Returns whether any bodies are
        newly connected.
        """
        rigid = rigid & ~self._deforms[links].any(axis=1)
        before = self._touching, self._rigid
        self._touching, self._rigid = sets(self._anchor, links), sets(self._node, links[rigid])
        a, b = self._node[links].T
        world = len(self._node) - 1
        self._joined = sets(self._node, links[(a != world) & (b != world)])
        grown = (before[0][a] != before[0][b]) | (rigid & (before[1][a] != before[1][b]))
        self.rest = self.rest._replace(held=self._are_held(*np.divmod(self.rest.pair, self.rest.bodies)))
        self._exclude()
        return bool(grown.any())

    def begin(self, neighbours: Ints, contacts: ContactSet) -> None:
        """Record the current gaps of newly jointed pairs as their gaps at rest.

        neighbours: (k, 2) bodies a < b that are near each other. contacts: all contacts except those excluded by the scene.
        """
        self._neighbours = neighbours
        self._exclude()
        a, b = contacts.body_a, contacts.body_b
        near = contacts.gap < NEAR_ENOUGH * rest_offsets(np.minimum(self._size[a], self._size[b]))
        # Pairs that were jointed before keep their initial gap.
        known = np.isin(a * self.rest.bodies + b, self.rest.pair[self.rest.held])
        new = near & self._are_held(a, b) & ~known
        if not new.any():
            return
        pair, place = np.unique((a * self.rest.bodies + b)[new], return_inverse=True)
        gap = np.full(len(pair), np.inf)
        np.minimum.at(gap, place, contacts.gap[new])
        kept = ~np.isin(self.rest.pair, pair)
        pair = np.concatenate([self.rest.pair[kept], pair])
        order = np.argsort(pair, kind="stable")
        gap = np.concatenate([self.rest.gap[kept], gap])
        held = np.concatenate([self.rest.held[kept], np.ones(len(pair) - int(kept.sum()), np.bool_)])
        self.rest = self.rest._replace(pair=pair[order], gap=gap[order], held=held[order])

    def loosen(self, contacts: ContactSet, awake: Flags) -> None:
        """Update the gaps at rest of pairs whose joints broke: they grow with the current gap.

        A pair without a contact becomes an ordinary pair again. Pairs of sleeping bodies do not change. awake: (n,).
        """
        if not len(self.rest.held) or self.rest.held.all():
            return
        free = ~self.rest.held
        now = np.full(len(free), np.inf)
        row = self.rest.find(contacts.body_a, contacts.body_b)
        np.minimum.at(now, row[row >= 0], contacts.gap[row >= 0])
        a, b = np.divmod(self.rest.pair, self.rest.bodies)
        now[~(awake[a] | awake[b])] = -np.inf
        gap = np.where(free, np.maximum(self.rest.gap, now), self.rest.gap)
        kept = np.isfinite(gap)
        self.rest = self.rest._replace(pair=self.rest.pair[kept], gap=gap[kept], held=self.rest.held[kept])

    def are_held(self, contacts: ContactSet) -> Flags:
        """Return (m,) whether the bodies of contacts are jointed."""
        return self._are_held(contacts.body_a, contacts.body_b)

    def are_held_by_the_world_alone(self, contacts: ContactSet) -> Flags:
        """Return (m,) whether the bodies of contacts are jointed only because both have joints to the world.

        Both bodies are movable or kinematic.
        """
        a, b, world = contacts.body_a, contacts.body_b, len(self._node) - 1
        moves = (self._node[a] != world) & (self._node[b] != world)
        return moves & self.are_held(contacts) & (self._joined[a] != self._joined[b])

    def checkpoint(self) -> dict[str, NDArray]:
        """Return copies of the arrays that `restore` needs, in addition to the active joints."""
        return dict(zip(OF_PAIRS, (self.rest.pair.copy(), self.rest.gap.copy(), self._neighbours.copy()), strict=True))

    def restore(self, checkpoint: dict[str, NDArray]) -> None:
        """Continue from a checkpoint. Call `follow` with the active joints first."""
        pair, gap, self._neighbours = (np.array(checkpoint[name]) for name in OF_PAIRS)
        self.rest = RestGaps(self.rest.bodies, pair, gap, self._are_held(*np.divmod(pair, self.rest.bodies)))
        self._exclude()

    def forget(self) -> None:
        """Discard all recorded gaps, as before the first `begin`."""
        self.rest = RestGaps.of_scene(self.rest.bodies)
        self._neighbours = self._neighbours[:0]
        self._exclude()

    def _are_held(self, a: Ints, b: Ints) -> Flags:
        return self._touching[a] == self._touching[b]

    def _exclude(self) -> None:
        a, b = self._neighbours.T
        still = self._neighbours[self._rigid[a] == self._rigid[b]]
        self.excluded = np.unique(np.concatenate([self._of_scene, still]), axis=0) if len(still) else self._of_scene


def sets(node: Ints, links: Ints) -> Ints:
    """Return (n + 1,) for each body, and the world, the first node of the set that links (k, 2) connect it to.

    node: (n + 1,) the node of each body and of the world.
    """
    a, b = node[links].T
    found = connected(len(node), np.ones(len(node), np.bool_), a.copy(), b.copy())
    return found[node]
