# SPDX-License-Identifier: GPL-3.0-or-later
"""Experiments run by the library: as they are, mirrored or turned, at a number of steps a second, by a method."""

from __future__ import annotations

import zlib
from dataclasses import dataclass, replace

import numpy as np
from scipy.spatial.transform import Rotation

import solver_core as sc
from solver_core.dynamics.model.frame import Frame
from solver_core.scene.spec import SceneSpec

from ...core.placing import Placement
from .experiment import FPS, Claim, Experiment, Film, Floats, frames_of

__all__ = ["METHODS", "PLACINGS", "RATES", "USUAL_RATE", "Verdict", "film", "film_of", "judged", "placement", "prepared"]

RATES = (60, 240, 480, 960)  # steps a second
USUAL_RATE = 240
PLACINGS = ("as it is", "mirrored", "turned")
METHODS = ("staggered", "pivot", "energy")


@dataclass(frozen=True)
class Verdict:
    """A claim, what was seen, and whether that is close enough."""

    claim: Claim
    seen: float
    margin: float
    holds: bool


def placement(placing: str, name: str) -> Placement:
    """Of an experiment by its name, which chooses the turn in space at random."""
    if placing == "mirrored":
        return Placement(is_mirrored=True)
    if placing == "turned":
        return Placement(rotation=any_turn(zlib.crc32(name.encode())))
    return Placement()


def any_turn(seed: int) -> Rotation:
    """A turn in space, all alike likely."""
    quaternion = np.random.default_rng(seed).normal(size=4)
    return Rotation.from_quat(quaternion / np.linalg.norm(quaternion))


def prepared(spec: SceneSpec, seconds: float) -> SceneSpec:
    """The scene at the frame rate of all experiments and with a range long enough; its clock begins at frame 1."""
    return replace(spec, fps=float(FPS), frame_start=1, frame_end=1 + frames_of(seconds))


def film(experiment: Experiment, placed: Placement, rate: int, method: str) -> Film:
    """Run the experiment with so many steps a second and film every step."""
    spec = prepared(experiment.spec, experiment.seconds)
    simulation = sc.Simulation(placed.applied(spec), method=method, substeps=rate // FPS, threads=1)
    pictures: list[Frame] = []
    frames = [
        simulation.advance(before_step=lambda: pictures.append(simulation.first_frame()))
        for _ in range(frames_of(experiment.seconds))
    ]
    pictures.append(frames[-1])
    return film_of(spec, pictures, frames, placed, (1.0 / rate, 1.0 / rate))


def film_of(spec: SceneSpec, pictures: list[Frame], frames: list[Frame], placed: Placement, clock: tuple[float, float]) -> Film:
    """The pictures of a scene that was placed somewhere, seen as it was before; clock: s between two pictures, s a step.

    frames: those of whole frames, from which the reactions of joints come.
    """
    poses = np.array([picture.poses for picture in pictures])
    twists = np.array([picture.velocities for picture in pictures])
    reactions = np.array([frame.reactions for frame in frames])
    return Film(
        names=tuple(body.name for body in spec.bodies),
        step=clock[1],
        times=clock[0] * np.arange(len(pictures)),
        poses=np.concatenate([placed.undone(poses[..., :3]), placed.undone_orientations(poses[..., 3:])], axis=-1),
        velocities=_both(placed, twists),
        broken=np.array(frames[-1].broken),
        reactions=_both(placed, reactions),
        missed=sum(int((frame.statistics.status != sc.Status.SOLVED).sum()) for frame in frames),
        violations=sum(int(frame.statistics.violations.sum()) for frame in frames),
    )


def _both(placed: Placement, pairs: Floats) -> Floats:
    """Twists and wrenches (..., 6) as they were before."""
    return np.concatenate([placed.undone(pairs[..., :3]), placed.undone_axial(pairs[..., 3:])], axis=-1)


def judged(experiment: Experiment, seen: Film) -> list[Verdict]:
    """Each claim beside the film."""
    verdicts = []
    for claim in experiment.claims:
        value = float(claim.measure(seen))
        verdicts.append(Verdict(claim, value, claim.margin(seen.step), claim.holds(value, seen.step)))
    return verdicts
