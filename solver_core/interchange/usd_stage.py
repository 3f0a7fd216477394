# SPDX-License-Identifier: GPL-3.0-or-later
"""A stage that is read: opened whole, in meters and kilograms with Z up, at its first frame."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pxr import Gf, Sdf, Tf, Usd, UsdGeom, UsdPhysics, UsdUtils

from ..io.foreign import words_of
from ..scene.spec import FrictionCombine
from ..validation.findings import SceneError, SceneProblem
from ..validation.scene import LAST_FRAME
from .described import Found
from .usd_names import FRICTION_RULE_ATTRIBUTE, RESTITUTION_RULE_ATTRIBUTE

__all__ = ["Opened", "opened"]

Array = NDArray[np.float64]

LAYERS = (".usd", ".usda", ".usdc", ".usdz")
# Of a scene that says nothing of its frames, as in Blender.
FIRST_FRAME, USUAL_FRAMES = 1, 250
FPS = 24.0
# How OpenUSD reports an error to Python.
OF_OPENUSD = re.compile(r"Error in '.*?' at line \d+ in file .*? : '(.*?)'(?= Error in |$)")
Y_UP = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]])


@dataclass
class Opened:
    """length: m, mass: kg, of the stage's units. up: (3, 3) turns its axes so that Z is up. start, end: frames; fps: time codes
    a second, of which `rate` is shown in one."""

    stage: Usd.Stage
    found: Found
    length: float
    mass: float
    up: Array
    start: int
    end: int
    fps: float
    rate: float

    def __post_init__(self) -> None:
        self._cache = UsdGeom.XformCache(self.time)
        self._root = np.eye(4)
        self._root[:3, :3] = self.length * self.up

    @property
    def time(self) -> Usd.TimeCode:
        """Of the first frame."""
        return Usd.TimeCode(self.start)

    @cached_property
    def rules(self) -> tuple[FrictionCombine, FrictionCombine]:
        """How friction and restitution are combined: as a scene of Stiction says, else by the average, as others do."""
        scene = next((prim for prim in self.stage.Traverse() if prim.IsA(UsdPhysics.Scene)), None)
        rules = []
        for name in (FRICTION_RULE_ATTRIBUTE, RESTITUTION_RULE_ATTRIBUTE):
            value = scene.GetAttribute(name).Get() if scene is not None and scene.HasAttribute(name) else None
            rules.append(next((rule for rule in FrictionCombine if rule.value == value), FrictionCombine.AVERAGE))
        return rules[0], rules[1]

    def local(self, prim: Usd.Prim, frame: int | None = None) -> Array:
        """Local-to-world matrix (4, 4) of a prim in units and axes of the stage, at a frame, at first the first."""
        self.found.signs()
        self._cache.SetTime(self.time if frame is None else Usd.TimeCode(frame))
        return np.array(self._cache.GetLocalToWorldTransform(prim), dtype=np.float64).T

    def world(self, prim: Usd.Prim, frame: int | None = None) -> Array:
        """The same into m and with Z up; its columns have the length of a unit where nothing is scaled."""
        return self._root @ self.local(prim, frame)

    def to_world(self, matrix: Array) -> Array:
        """A matrix (4, 4) into the axes of the stage as one into m with Z up."""
        return self._root @ matrix

    def number(self, prim: Usd.Prim, attribute: Usd.Attribute, default: float = 0.0) -> float:
        """A number at the first frame, infinite ones too; a problem and the default where it is none."""
        value = attribute.Get(self.time) if attribute else None
        if value is None:
            return default
        if not isinstance(value, (int, float)) or math.isnan(value):
            self.found.wrong(str(prim.GetPath()), attribute.GetName(), "it is not a number; correct it in the file")
            return default
        return float(value)

    def vector(self, prim: Usd.Prim, attribute: Usd.Attribute) -> Array:
        """A vector (3,) at the first frame; a problem and zeros where it is not finite."""
        value = attribute.Get(self.time) if attribute else None
        if value is None:
            return np.zeros(3)
        if not self.found.is_finite(str(prim.GetPath()), attribute.GetName(), value):
            return np.zeros(3)
        vector = np.array(value, dtype=np.float64)
        if vector.shape != (3,):
            self.found.wrong(str(prim.GetPath()), attribute.GetName(), "it is no vector of three; correct it in the file")
            return np.zeros(3)
        return vector

    def quaternion(self, prim: Usd.Prim, attribute: Usd.Attribute) -> Array:
        """A unit quaternion (w, x, y, z) at the first frame, none for what is not authored or zero."""
        value: Any = attribute.Get(self.time) if attribute else None
        if value is None:
            return np.array([1.0, 0.0, 0.0, 0.0])
        if not isinstance(value, (Gf.Quatd, Gf.Quatf, Gf.Quath)):
            self.found.wrong(str(prim.GetPath()), attribute.GetName(), "it is no quaternion; correct it in the file")
            return np.array([1.0, 0.0, 0.0, 0.0])
        q = np.array([value.GetReal(), *value.GetImaginary()], dtype=np.float64)
        if not self.found.is_finite(str(prim.GetPath()), attribute.GetName(), q) or not np.linalg.norm(q) > 0.0:
            return np.array([1.0, 0.0, 0.0, 0.0])
        return q / np.linalg.norm(q)


def opened(file: Path, found: Found) -> Opened:
    """Open a stage whole, with all of its layers.

    Parameters: `file` names the root layer. What is odd about its frames is added to `found`.

    Returns the stage with its units, axes and frames.

    Raises SceneError where the file, or a layer that it names, cannot be read, and where layers refer to each other in a
    circle.
    """

    def refuse(field: str, message: str) -> SceneError:
        return SceneError((SceneProblem(str(file), field, message),))

    if not file.is_file():
        raise refuse("file", "there is no such file")
    try:
        stage = Usd.Stage.Open(str(file))
    except Tf.ErrorException as error:
        raise refuse(
            "file", f"it is no whole USD file, and nothing of it is read: {sentence_of(error)}; export it again"
        ) from error
    found.signs()
    lost = tuple(SceneProblem(*one) for one in composition_errors(stage))
    if lost:
        raise SceneError(lost)
    missing = unresolved_layers(file)
    if missing:
        raise refuse("references", f"{', '.join(missing)} cannot be found; put it where the file looks for it")
    length, mass = UsdGeom.GetStageMetersPerUnit(stage), UsdPhysics.GetStageKilogramsPerUnit(stage)
    for what, value in (("metersPerUnit", length), ("kilogramsPerUnit", mass)):
        if not (math.isfinite(value) and value > 0.0):
            raise refuse(what, f"{value} is no unit; set it to a number above 0")
    fps = stage.GetTimeCodesPerSecond()
    if not (math.isfinite(fps) and fps > 0.0):
        raise refuse("timeCodesPerSecond", f"{fps} is no rate; set it to a number above 0")
    is_timed = stage.HasAuthoredTimeCodeRange()
    codes = (stage.GetStartTimeCode(), stage.GetEndTimeCode()) if is_timed else (FIRST_FRAME, FIRST_FRAME + USUAL_FRAMES - 1)
    if not all(map(math.isfinite, codes)):
        raise refuse("startTimeCode", f"its time codes run from {codes[0]} to {codes[1]}; set finite ones")
    start, end = math.floor(codes[0]), math.ceil(codes[1])
    if start < -LAST_FRAME or end > LAST_FRAME:
        message = f"its frames {start:g} to {end:g} are not between {-LAST_FRAME} and {LAST_FRAME}; set a shorter range"
        raise refuse("endTimeCode", message)
    if start >= end:
        found.odd(str(file), "endTimeCode", f"it has one frame only; its simulation is given {USUAL_FRAMES}")
        end = start + USUAL_FRAMES - 1
    rate = stage.GetFramesPerSecond() if stage.HasAuthoredMetadata("framesPerSecond") else fps
    up = Y_UP if UsdGeom.GetStageUpAxis(stage) == UsdGeom.Tokens.y else np.eye(3)
    return Opened(stage, found, float(length), float(mass), up, start, end, float(fps), float(rate or fps))


def sentence_of(error: Exception) -> str:
    """What an error of OpenUSD says, without the places in its sources."""
    words = words_of(error)
    return "; ".join(OF_OPENUSD.findall(words)) or words


def unresolved_layers(file: Path) -> list[str]:
    """The layers that the file, or a layer of it, names and that are not there; those of variants that are not chosen too."""
    try:
        _, _, unresolved = UsdUtils.ComputeAllDependencies(Sdf.AssetPath(str(file)))
    except Tf.ErrorException as error:
        message = f"a layer that it names cannot be read: {sentence_of(error)}; write that again"
        raise SceneError((SceneProblem(str(file), "references", message),)) from error
    return [str(path) for path in unresolved if Path(str(path)).suffix.lower() in LAYERS]


def composition_errors(stage: Usd.Stage) -> Iterator[tuple[str, str, str]]:
    """The path of a prim, a field and a sentence for each error of the composition of a stage, which leaves something out: a
    layer that cannot be opened, a prim that is not there, layers or prims that refer to each other in a circle.

    Errors of references and payloads are kept with the index of each prim, those of sublayers with the stacks of layers in it.
    """
    stacks: set[Any] = set()
    reported: set[str] = set()
    every = Usd.PrimRange.Stage(stage, Usd.TraverseInstanceProxies(Usd.PrimAllPrimsPredicate))
    for prim in (stage.GetPseudoRoot(), *every):
        index = prim.GetPrimIndex()
        errors = list(index.localErrors)
        waiting = [] if prim.IsInstanceProxy() else [index.rootNode]
        while waiting:
            node = waiting.pop()
            waiting += node.children
            if node.layerStack.identifier not in stacks:
                stacks.add(node.layerStack.identifier)
                errors += node.layerStack.localErrors
        for error in errors:
            sentence = " ".join(str(error).split()).removesuffix("; skipping.").rstrip(" .")
            if sentence not in reported:
                reported.add(sentence)
                yield str(prim.GetPath()), "references", f"{sentence}; correct the reference or the layer in the file"
