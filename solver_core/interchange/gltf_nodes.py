# SPDX-License-Identifier: GPL-3.0-or-later
"""The nodes of a glTF document that is read: their places in m with Z up, their meshes, and their physics."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .described import Found, Look
from .frames import matrix_of
from .gltf_file import BODIES, UP, GltfError, numbers_at

__all__ = ["Nodes"]

Json = dict[str, Any]
Array = NDArray[Any]

TRIANGLES = 4
# Numbers of a value of an animation.
ANIMATED_WIDTHS = {"translation": 3, "rotation": 4}
CORNERS_OF_TRIANGLE = 3


class Nodes:
    """All nodes below the scene of a document, by their numbers, each after the one above it."""

    def __init__(self, document: Json, buffers: list[bytes], found: Found):
        self.document, self.found = document, found
        self.all: list[Json] = document.get("nodes", [])
        self.above: dict[int, int | None] = {}
        self.worlds: dict[int, Array] = {}
        self._buffers = buffers
        root = np.eye(4)
        root[:3, :3] = UP.T
        scenes = document.get("scenes") or [{"nodes": list(range(len(self.all)))}]
        number = document.get("scene", 0)
        if not isinstance(number, int) or not 0 <= number < len(scenes):
            raise GltfError(f"there is no scene {number}; write the file anew")
        waiting: deque[tuple[Any, int | None, Array]] = deque((one, None, root) for one in scenes[number].get("nodes", []))
        while waiting:
            one, parent, world = waiting.popleft()
            if not isinstance(one, int) or not 0 <= one < len(self.all) or one in self.above:
                raise GltfError(f"node {one} is missing, or is below two others; write the file anew")
            self.above[one] = parent
            self.found.signs()
            name = self.all[one].get("name") or ""
            if not isinstance(name, str) or not is_text(name):
                raise GltfError(f"the name of node {one} is no text; name it otherwise")
            self.worlds[one] = world @ self.local(one)
            waiting.extend((child, one, self.worlds[one]) for child in self.all[one].get("children", []))

    def path(self, number: int) -> str:
        """How a node is named in messages."""
        names: list[str] = []
        now: int | None = number
        while now is not None:
            names.append(str(self.all[now].get("name") or f"node {now}"))
            now = self.above.get(now)
        return "/" + "/".join(reversed(names))

    def free_name(self, number: int, taken: Collection[str]) -> str:
        """What a node is called; with its number where that is taken."""
        name = str(self.all[number].get("name") or f"Node {number}")
        return name if name not in taken else f"{name} {number}"

    def physics(self, number: int) -> Json | None:
        """The extension of a node, None where it has none."""
        return self.all[number].get("extensions", {}).get(BODIES)

    def local(self, number: int) -> Array:
        """The matrix (4, 4) of a node in that above it; a problem where it is not finite."""
        node, result = self.all[number], np.eye(4)
        try:
            if "matrix" in node:
                result = np.array(node["matrix"], dtype=np.float64).reshape(4, 4).T
            else:
                turn = np.array(node.get("rotation", [0, 0, 0, 1]), dtype=np.float64)
                if np.isfinite(turn).all() and np.linalg.norm(turn) > 0.0:
                    result[:3, :3] = matrix_of(turn[[3, 0, 1, 2]]) * np.array(node.get("scale", [1, 1, 1]), dtype=np.float64)
                else:
                    result[0, 0] = np.nan
                result[:3, 3] = node.get("translation", [0, 0, 0])
        except (TypeError, ValueError, IndexError, OverflowError) as error:
            raise GltfError(f"node {number} has no place that can be read ({error}); write the file anew") from error
        if not np.isfinite(result).all():
            self.found.wrong(self.path(number), "translation", "its place is not finite; correct it in the file")
            return np.eye(4)
        return result

    def owner(self, number: int) -> int | None:
        """The node itself or the nearest above it that moves, or that only has the extension, and so holds parts together."""
        now: int | None = number
        while now is not None:
            own = self.physics(now)
            if own is not None and ("motion" in own or not own):
                return now
            now = self.above[now]
        return None

    def look(self, number: int) -> Look | None:
        """The triangles of the mesh of a node, in its own axes; None where it has none, or with a problem."""
        index = self.all[number].get("mesh")
        if index is None:
            return None
        looks = []
        try:
            for part in self.document["meshes"][index]["primitives"]:
                if part.get("mode", TRIANGLES) != TRIANGLES:
                    self.found.odd(self.path(number), "mode", "points, lines, strips and fans are left out; use triangles")
                    continue
                looks.append(self.triangles(part))
        except (KeyError, IndexError, TypeError) as error:
            self.found.wrong(self.path(number), "mesh", f"mesh {index} cannot be read ({error}); write the file anew")
            return None
        except GltfError as error:
            self.found.wrong(self.path(number), "mesh", str(error))
            return None
        if not looks:
            return None
        before = np.cumsum([0, *(len(look.points) for look in looks)])
        points = np.concatenate([look.points for look in looks])
        if not np.isfinite(points).all():
            bad = int(np.argmin(np.isfinite(points).all(axis=1)))
            self.found.wrong(self.path(number), "mesh", f"point {bad} is not finite; repair the mesh")
            return None
        corners = np.concatenate([look.corners + n for look, n in zip(looks, before[:-1], strict=True)])
        return Look(
            points,
            np.full(len(corners) // CORNERS_OF_TRIANGLE, CORNERS_OF_TRIANGLE, dtype=np.int32),
            corners.astype(np.int32),
            looks[0].colour,
        )

    def triangles(self, part: Json) -> Look:
        """One primitive. Raises GltfError."""
        points = numbers_at(self.document, self._buffers, part["attributes"]["POSITION"]).astype(np.float64)
        if "indices" in part:
            corners = numbers_at(self.document, self._buffers, part["indices"]).ravel()
        else:
            corners = np.arange(len(points))
        if len(corners) % CORNERS_OF_TRIANGLE or (len(corners) and (corners.min() < 0 or corners.max() >= len(points))):
            raise GltfError(f"there is no point {corners.max(initial=0)} of {len(points)}; repair the mesh")
        colour = None
        if "material" in part:
            surface = self.document["materials"][part["material"]].get("pbrMetallicRoughness", {})
            red, green, blue = surface.get("baseColorFactor", [1, 1, 1, 1])[:3]
            colour = float(red), float(green), float(blue)
        return Look(
            points,
            np.full(len(corners) // CORNERS_OF_TRIANGLE, CORNERS_OF_TRIANGLE, dtype=np.int32),
            corners.astype(np.int32),
            colour,
        )

    def paths(self) -> dict[int, tuple[Array, Array, Array]]:
        """The times (n,) s and places (n, 3) and rotations (n, 4) of the nodes that the first animation moves so, the last two
        empty where it does not. Raises GltfError."""
        found: dict[int, tuple[Array, Array, Array]] = {}
        for animation in self.document.get("animations", [])[:1]:
            for channel in animation.get("channels", []):
                target, sampler = channel.get("target", {}), animation["samplers"][channel["sampler"]]
                number, kind = target.get("node"), target.get("path")
                if number not in self.above or kind not in ("translation", "rotation"):
                    continue
                times = numbers_at(self.document, self._buffers, sampler["input"]).ravel()
                values = numbers_at(self.document, self._buffers, sampler["output"])
                if sampler.get("interpolation", "LINEAR") == "CUBICSPLINE":
                    values = values[1::3]
                if len(times) and (np.diff(times) <= 0.0).any():
                    at = int(np.argmax(np.diff(times) <= 0.0)) + 1
                    raise GltfError(
                        f"the animation of {self.path(number)} has time {times[at]:g} s after {times[at - 1]:g} s; "
                        "times have to rise, write the file anew"
                    )
                if (
                    len(values) != len(times)
                    or not len(times)
                    or values.shape[1] != ANIMATED_WIDTHS[kind]
                    or not (np.isfinite(values).all() and np.isfinite(times).all())
                ):
                    raise GltfError(f"the animation of {self.path(number)} is not finite, or cut off; write the file anew")
                before = found.get(number, (times, np.zeros((0, 3)), np.zeros((0, 4))))
                found[number] = (
                    (times, values, before[2]) if kind == "translation" else (times, before[1], values[:, [3, 0, 1, 2]])
                )
        return found


def is_text(name: str) -> bool:
    """Whether a name can be written at all; halves of letters (surrogates), which JSON can spell, cannot."""
    try:
        name.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
