# SPDX-License-Identifier: GPL-3.0-or-later
"""A USD stage that is read, with all layers, at its first frame. Values are converted to m and kg with Z up."""

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
# Default of a scene without a frame range, as in Blender.
FIRST_FRAME, DEFAULT_FRAMES = 1, 250
FPS = 24.0
# The form of an error of OpenUSD in Python.
OF_OPENUSD = re.compile(r"Error in '.*?' at line \d+ in file .*? : '(.*?)'(?= Error in |$)")
Y_UP = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]])


@dataclass
class Opened:
    """An open stage.

    found: gets problems and warnings. length, mass: units of the stage [m], [kg]. up: (3, 3) rotation of its axes to Z up.
    start, end: first and last frame. fps: time codes per second. rate: displayed frames per second.
    """

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
        """The time code of the first frame."""
        return Usd.TimeCode(self.start)

    @cached_property
    def rules(self) -> tuple[FrictionCombine, FrictionCombine]:
        """The combination rules of friction and restitution: those that Stiction wrote, or the average, as in other tools."""
        scene = next((prim for prim in self.stage.Traverse() if prim.IsA(UsdPhysics.Scene)), None)
        rules = []
        for name in (FRICTION_RULE_ATTRIBUTE, RESTITUTION_RULE_ATTRIBUTE):
            value = scene.GetAttribute(name).Get() if scene is not None and scene.HasAttribute(name) else None
            rules.append(next((rule for rule in FrictionCombine if rule.value == value), FrictionCombine.AVERAGE))
        return rules[0], rules[1]

    def local(self, prim: Usd.Prim, frame: int | None = None) -> Array:
        """Return the local-to-world matrix (4, 4) of a prim in units and axes of the stage. frame: by default the first."""
        self.found.signs()
        self._cache.SetTime(self.time if frame is None else Usd.TimeCode(frame))
        return np.array(self._cache.GetLocalToWorldTransform(prim), dtype=np.float64).T

    def world(self, prim: Usd.Prim, frame: int | None = None) -> Array:
        """Return the local-to-world matrix (4, 4) of a prim, to m with Z up. It scales by the length unit of the stage."""
        return self._root @ self.local(prim, frame)

    def to_world(self, matrix: Array) -> Array:
        """Convert a matrix (4, 4) to the axes of the stage to one to m with Z up."""
        return self._root @ matrix

    def number(self, prim: Usd.Prim, attribute: Usd.Attribute, default: float = 0.0) -> float:
        """Return a number at the first frame, which may be infinite. Otherwise adds a problem and returns the default."""
        value = attribute.Get(self.time) if attribute else None
        if value is None:
            return default
        if not isinstance(value, (int, float)) or math.isnan(value):
            self.found.wrong(str(prim.GetPath()), attribute.GetName(), "it is not a number; correct it in the file")
            return default
        return float(value)

    def vector(self, prim: Usd.Prim, attribute: Usd.Attribute) -> Array:
        """Return a vector (3,) at the first frame. Adds a problem and returns zeros if it is not finite."""
        value = attribute.Get(self.time) if attribute else None
        if value is None:
            return np.zeros(3)
        if not self.found.is_finite(str(prim.GetPath()), attribute.GetName(), value):
            return np.zeros(3)
        vector = np.array(value, dtype=np.float64)
        if vector.shape != (3,):
            self.found.wrong(
                str(prim.GetPath()), attribute.GetName(), "it is not a vector of three numbers; correct it in the file"
            )
            return np.zeros(3)
        return vector

    def quaternion(self, prim: Usd.Prim, attribute: Usd.Attribute) -> Array:
        """Return a unit quaternion (w, x, y, z) at the first frame; the identity if it is not authored or zero."""
        value: Any = attribute.Get(self.time) if attribute else None
        if value is None:
            return np.array([1.0, 0.0, 0.0, 0.0])
        if not isinstance(value, (Gf.Quatd, Gf.Quatf, Gf.Quath)):
            self.found.wrong(str(prim.GetPath()), attribute.GetName(), "it is not a quaternion; correct it in the file")
            return np.array([1.0, 0.0, 0.0, 0.0])
        q = np.array([value.GetReal(), *value.GetImaginary()], dtype=np.float64)
        if not self.found.is_finite(str(prim.GetPath()), attribute.GetName(), q) or not np.linalg.norm(q) > 0.0:
            return np.array([1.0, 0.0, 0.0, 0.0])
        return q / np.linalg.norm(q)


def opened(file: Path, found: Found) -> Opened:
    """Open a stage with all of its layers, and return it with its units, axes and frames.

    file: the root layer. found: gets warnings about its frames.

    Raises SceneError if the file or one of its layers cannot be read, and for circular references.
    """

    def refuse(field: str, message: str) -> SceneError:
        return SceneError((SceneProblem(str(file), field, message),))

    if not file.is_file():
        raise refuse("file", "there is no such file")
    try:
        stage = Usd.Stage.Open(str(file))
    except Tf.ErrorException as error:
        raise refuse("file", f"it is not a complete USD file: {sentence_of(error)}; export it again") from error
    found.signs()
    lost = tuple(SceneProblem(*one) for one in composition_errors(stage))
    if lost:
        raise SceneError(lost)
    missing = unresolved_layers(file)
    if missing:
        raise refuse("references", f"{', '.join(missing)} cannot be found; move it to where the file looks for it")
    length, mass = UsdGeom.GetStageMetersPerUnit(stage), UsdPhysics.GetStageKilogramsPerUnit(stage)
    for name, value in (("metersPerUnit", length), ("kilogramsPerUnit", mass)):
        if not (math.isfinite(value) and value > 0.0):
            raise refuse(name, f"{value} is not a unit; set it to a number above 0")
    fps = stage.GetTimeCodesPerSecond()
    if not (math.isfinite(fps) and fps > 0.0):
        raise refuse("timeCodesPerSecond", f"{fps} is not a frame rate; set it to a number above 0")
    is_timed = stage.HasAuthoredTimeCodeRange()
    codes = (stage.GetStartTimeCode(), stage.GetEndTimeCode()) if is_timed else (FIRST_FRAME, FIRST_FRAME + DEFAULT_FRAMES - 1)
    if not all(map(math.isfinite, codes)):
        raise refuse("startTimeCode", f"its time codes run from {codes[0]} to {codes[1]}; set finite ones")
    start, end = math.floor(codes[0]), math.ceil(codes[1])
    if start < -LAST_FRAME or end > LAST_FRAME:
        message = f"its frames {start:g} to {end:g} are not between {-LAST_FRAME} and {LAST_FRAME}; set a shorter range"
        raise refuse("endTimeCode", message)
    if start >= end:
        found.odd(str(file), "endTimeCode", f"it has only one frame; the simulation gets {DEFAULT_FRAMES}")
        end = start + DEFAULT_FRAMES - 1
    rate = stage.GetFramesPerSecond() if stage.HasAuthoredMetadata("framesPerSecond") else fps
    up = Y_UP if UsdGeom.GetStageUpAxis(stage) == UsdGeom.Tokens.y else np.eye(3)
    return Opened(stage, found, float(length), float(mass), up, start, end, float(fps), float(rate or fps))


def sentence_of(error: Exception) -> str:
    """Return the message of an error of OpenUSD, without the locations in its source code."""
    words = words_of(error)
    return "; ".join(OF_OPENUSD.findall(words)) or words


def unresolved_layers(file: Path) -> list[str]:
    """Return the missing layers that the file or one of its layers refers to, also those of variants that are not selected."""
    try:
        _, _, unresolved = UsdUtils.ComputeAllDependencies(Sdf.AssetPath(str(file)))
    except Tf.ErrorException as error:
        message = f"one of its layers cannot be read: {sentence_of(error)}; export that layer again"
        raise SceneError((SceneProblem(str(file), "references", message),)) from error
    return [str(path) for path in unresolved if Path(str(path)).suffix.lower() in LAYERS]


def composition_errors(stage: Usd.Stage) -> Iterator[tuple[str, str, str]]:
    """Yield the path of a prim, a field and a message for each composition error of a stage.

    After such an error something is missing: a layer cannot be opened, a prim does not exist, or references are circular.
    Errors of references and payloads are stored in the index of each prim, those of sublayers in its layer stacks.
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
