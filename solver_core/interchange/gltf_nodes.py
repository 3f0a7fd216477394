# SPDX-License-Identifier: GPL-3.0-or-later
"""The nodes of a glTF document that is read: their transforms in m with Z up, their meshes, and their physics."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .described import Found, Look
from .frames import matrix_of
from .gltf_file import BODIES, UP, GltfError, entry_at, is_index, numbers_at, vector

__all__ = ["NodeTracks", "Nodes"]

Json = dict[str, Any]
Array = NDArray[Any]

TRIANGLES = 4
# How many numbers an animated value has.
ANIMATED_WIDTHS = {"translation": 3, "rotation": 4}
CORNERS_OF_TRIANGLE = 3


class Track(NamedTuple):
    """An animated value: times (n,) in s, ascending, and values (n, width)."""

    times: Array
    values: Array


class NodeTracks(NamedTuple):
    """The animation of a node, relative to its parent, in the axes of glTF.

    translation: m. rotation: quaternions (w, x, y, z). Each is None if it is not animated; their times may differ.
    """

    translation: Track | None = None
    rotation: Track | None = None


class Nodes:
    """All nodes of the scene of a document, by index, each after its parent.

    above: index of the parent of each node, None for a root. worlds: (4, 4) world matrix of each node, with Z up [m].
    """

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
        if not is_index(number, len(scenes)):
            raise GltfError(f"there is no scene {number!r}; export it again")
        waiting: deque[tuple[Any, int | None, Array]] = deque((one, None, root) for one in scenes[number].get("nodes", []))
        while waiting:
            one, parent, world = waiting.popleft()
            if not is_index(one, len(self.all)) or one in self.above:
                raise GltfError(f"node {one!r} is missing, or has two parents; export it again")
            self.above[one] = parent
            self.found.signs()
            name = self.all[one].get("name") or ""
            if not isinstance(name, str) or not is_text(name):
                raise GltfError(f"the name of node {one} is not text; rename it")
            self.worlds[one] = world @ self.local(one)
            waiting.extend((child, one, self.worlds[one]) for child in self.all[one].get("children", []))

    def path(self, number: int) -> str:
        """Return the path of a node in messages."""
        names: list[str] = []
        now: int | None = number
        while now is not None:
            names.append(str(self.all[now].get("name") or f"node {now}"))
            now = self.above.get(now)
        return "/" + "/".join(reversed(names))

    def free_name(self, number: int, taken: Collection[str]) -> str:
        """Return the name of a node, with its index if another node has the same name."""
        name = str(self.all[number].get("name") or f"Node {number}")
        return name if name not in taken else f"{name} {number}"

    def physics(self, number: int) -> Json | None:
        """Return the rigid body extension of a node, or None."""
        return self.all[number].get("extensions", {}).get(BODIES)

    def local(self, number: int) -> Array:
        """Return the matrix (4, 4) of a node relative to its parent. Adds a problem if it is not finite.

        Raises GltfError if a value has the wrong type.
        """
        node, result = self.all[number], np.eye(4)
        try:
            if "matrix" in node:
                result = vector(node["matrix"], 16).reshape(4, 4).T
            else:
                turn = vector(node.get("rotation", [0, 0, 0, 1]), 4)
                if np.isfinite(turn).all() and np.linalg.norm(turn) > 0.0:
                    result[:3, :3] = matrix_of(turn[[3, 0, 1, 2]]) * vector(node.get("scale", [1, 1, 1]), 3)
                else:
                    result[0, 0] = np.nan
                result[:3, 3] = vector(node.get("translation", [0, 0, 0]), 3)
        except (TypeError, ValueError, OverflowError) as error:
            raise GltfError(f"the transform of node {number} cannot be read ({error}); export it again") from error
        if not np.isfinite(result).all():
            self.found.wrong(self.path(number), "translation", "its transform is not finite; correct it in the file")
            return np.eye(4)
        return result

    def owner(self, number: int) -> int | None:
        """Return the node to whose body a node belongs, or None: the node itself or its nearest ancestor with a motion, or with
        an empty extension, which groups the colliders below it.
        """
        ancestor: int | None = number
        while ancestor is not None:
            extension = self.physics(ancestor)
            if extension is not None and ("motion" in extension or not extension):
                return ancestor
            ancestor = self.above[ancestor]
        return None

    def look(self, number: int) -> Look | None:
        """Return the triangles of the mesh of a node, in its axes. None if it has no mesh, or if a problem was added."""
        index = self.all[number].get("mesh")
        if index is None:
            return None
        looks = []
        try:
            for part in entry_at(self.document, "meshes", index)["primitives"]:
                if part.get("mode", TRIANGLES) != TRIANGLES:
                    self.found.odd(self.path(number), "mode", "points, lines, strips and fans are left out; use triangles")
                    continue
                looks.append(self.triangles(part))
        except GltfError as error:
            self.found.wrong(self.path(number), "mesh", str(error))
            return None
        except (KeyError, IndexError, TypeError, ValueError) as error:
            self.found.wrong(self.path(number), "mesh", f"mesh {index!r} cannot be read ({error}); export it again")
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
        """Return one primitive. Raises GltfError."""
        points = numbers_at(self.document, self._buffers, part["attributes"]["POSITION"]).astype(np.float64)
        if "indices" in part:
            corners = numbers_at(self.document, self._buffers, part["indices"]).ravel()
        else:
            corners = np.arange(len(points))
        if len(corners) % CORNERS_OF_TRIANGLE or (len(corners) and (corners.min() < 0 or corners.max() >= len(points))):
            raise GltfError(f"a triangle has the point {corners.max(initial=0)} of {len(points)} points; repair the mesh")
        colour = None
        if "material" in part:
            surface = entry_at(self.document, "materials", part["material"]).get("pbrMetallicRoughness", {})
            red, green, blue, _ = vector(surface.get("baseColorFactor", [1, 1, 1, 1]), 4).tolist()
            colour = red, green, blue
        return Look(
            points,
            np.full(len(corners) // CORNERS_OF_TRIANGLE, CORNERS_OF_TRIANGLE, dtype=np.int32),
            corners.astype(np.int32),
            colour,
        )

    def tracks(self) -> dict[int, NodeTracks]:
        """Return the tracks of the nodes that the first animation moves. Raises GltfError."""
        tracks: dict[int, NodeTracks] = {}
        for animation in self.document.get("animations", [])[:1]:
            for channel in animation.get("channels", []):
                target, sampler = channel.get("target", {}), entry_at(animation, "samplers", channel.get("sampler"))
                number, kind = target.get("node"), target.get("path")
                if not is_index(number, len(self.all)) or number not in self.above or kind not in ANIMATED_WIDTHS:
                    continue
                times = numbers_at(self.document, self._buffers, sampler["input"]).ravel()
                values = numbers_at(self.document, self._buffers, sampler["output"])
                if sampler.get("interpolation", "LINEAR") == "CUBICSPLINE":
                    values = values[1::3]
                if len(times) and (np.diff(times) <= 0.0).any():
                    late = int(np.argmax(np.diff(times) <= 0.0)) + 1
                    raise GltfError(
                        f"the animation of {self.path(number)} has time {times[late]:g} s after {times[late - 1]:g} s; "
                        "times must increase, so export it again"
                    )
                if (
                    len(values) != len(times)
                    or not len(times)
                    or values.shape[1] != ANIMATED_WIDTHS[kind]
                    or not (np.isfinite(values).all() and np.isfinite(times).all())
                ):
                    raise GltfError(f"the animation of {self.path(number)} is not finite, or cut off; export it again")
                now = tracks.get(number, NodeTracks())
                if kind == "translation":
                    tracks[number] = now._replace(translation=Track(times, values))
                else:
                    tracks[number] = now._replace(rotation=Track(times, values[:, [3, 0, 1, 2]]))
        return tracks


def is_text(name: str) -> bool:
    """Return True if a name can be written. Halves of letters (surrogates), which JSON can contain, cannot."""
    try:
        name.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
