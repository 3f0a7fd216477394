# SPDX-License-Identifier: GPL-3.0-or-later
"""Distances by MuJoCo: one model with every body of a pool that it knows, posed two by two.

It has no cones. Hulls are stored by it in single precision and about their own centre; they are read back, so that both sides
measure the same body.
"""

from __future__ import annotations

import mujoco
import numpy as np

from .contact_oracle import FAR, Pose, Solid

TOLERANCE, ITERATIONS = 1e-10, 500


class MujocoOracle:
    """Distances of bodies of a pool without cones; `solids` is that pool with the hulls as MuJoCo has them."""

    def __init__(self, solids: dict[str, list[Solid]]):
        spec = mujoco.MjSpec()
        spec.option.ccd_tolerance, spec.option.ccd_iterations = TOLERANCE, ITERATIONS
        spec.option.disableflags |= mujoco.mjtDisableBit.mjDSBL_MULTICCD
        self.geoms: dict[int, int] = {}
        self.solids: dict[str, list[Solid]] = {}
        kept = [solid for kind, members in solids.items() if kind != "cone" for solid in members]
        # twice, so that a body can be posed against one of its own shape
        for number, solid in enumerate(2 * kept):
            kind = {"hull": "MESH"}.get(solid.kind, solid.kind.upper())
            geom = spec.worldbody.add_geom(type=getattr(mujoco.mjtGeom, f"mjGEOM_{kind}"), pos=[3.0 * number, 0.0, 0.0])
            if solid.kind == "hull":
                geom.meshname = f"mesh{number % len(kept)}"
                if number < len(kept):
                    spec.add_mesh(name=geom.meshname, uservert=solid.points.flatten().tolist())
            else:
                geom.size = sizes(solid)
        self.copies = len(kept)
        self.model = spec.compile()
        self.data = mujoco.MjData(self.model)
        mujoco.mj_forward(self.model, self.data)
        for number, solid in enumerate(kept):
            mesh = self.model.geom_dataid[number]
            if mesh >= 0:
                first, count = self.model.mesh_vertadr[mesh], self.model.mesh_vertnum[mesh]
                solid = Solid("hull", self.model.mesh_vert[first : first + count].astype(np.float64))
            self.geoms[id(solid)] = number
            self.solids.setdefault(solid.kind, []).append(solid)

    def distance(self, pose: Pose) -> tuple[float, np.ndarray]:
        """Distance in m, negative in overlap, and the way (3,) m from the first body's closest point to the second's."""
        first, second = self.geoms[id(pose.first)], self.geoms[id(pose.second)] + self.copies
        for geom, turn, place in ((first, pose.rotations[0], np.zeros(3)), (second, pose.rotations[1], pose.offset)):
            self.data.geom_xmat[geom] = turn.flatten()
            self.data.geom_xpos[geom] = place
        ends = np.zeros(6)
        value = mujoco.mj_geomDistance(self.model, self.data, first, second, FAR, ends)
        return value, ends[3:] - ends[:3]


def sizes(solid: Solid) -> list[float]:
    if solid.kind == "box":
        return solid.points.max(axis=0).tolist()
    height = float(np.ptp(solid.points[:, 2]))
    if solid.kind == "sphere":
        return [solid.margin, 0.0, 0.0]
    return [solid.margin or solid.radius, 0.5 * height, 0.0]
