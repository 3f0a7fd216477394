# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks of the scene before a bake: problems, warnings and notes."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import monotonic
from typing import Any

import bpy
import numpy as np
from bpy.types import Context, Object, Scene

from ...solver_core.geometry.body_mass import body_mass_properties
from ...solver_core.io.snapshot import write_snapshot
from ...solver_core.process.children import end_child, kill_child
from ...solver_core.scene.spec import BodyKind, SceneSpec
from ...solver_core.scene.words import distance, duration, figure
from ...solver_core.validation.findings import alike
from ...solver_core.validation.hollows import rooms_in_hulls
from ...solver_core.validation.surprises import origins_off_center
from ..blender.cooperative import Steps, aside_with_kernels, at_once
from ..blender.libraries import baked_elsewhere, has_keys_of_bake, linked_and_baked
from ..blender.restore import baked_objects
from ..blender.rigid_bodies import bodies_of
from ..read.extract import Extraction, inspecting
from ..read.membership import outside_world
from ..settings.properties import effective_rule
from .causes import with_causes
from .finding import Finding
from .scene_findings import broken_glue, lost_debris, range_of_bake
from .worker import find_python, worker_environment

__all__ = ["LEVELS", "Contacts", "Finding", "Look", "look", "looking", "objects_of"]

LEVELS = ("ERROR", "WARNING", "INFO")

# Combined coefficient, relative to the geometric mean, below which the rule is reported.
SURPRISING_SHARE = 0.75
# Tolerance of an object's scale, which should be 1.
UNSCALED = 1e-5
# s; wall time limit of the process that checks contacts. On its first use it compiles kernels, which takes up to five minutes
# of processor time.
LONGEST_CHECK = 1800.0
# s; wall time from the request to end until the process is killed.
SECONDS_TO_END = 5.0


@dataclass(frozen=True)
class Look:
    """The findings that are known immediately.

    sound: input of the contact check without invalid objects, or None if nothing is left.
    """

    findings: tuple[Finding, ...]
    sound: Extraction | None


def look(context: Context) -> Look:
    """Return all findings about the context's scene except those of the contact check."""
    return at_once(looking(context))


def looking(context: Context) -> Steps[Look]:
    """As `look`, in steps. The scene must not change between them."""
    scene = context.scene
    found = yield from inspecting(context)
    findings = [Finding("ERROR", names, field, message) for field, message, names in alike(found.problems)]
    findings += [Finding("WARNING", one.objects, one.field, one.message) for one in found.warnings]
    if scene.rigidbody_world is not None and scene.rigidbody_world.collection is not None:
        fields = {one.field for one in found.warnings}
        # If the world could not be read, there are no further findings.
        outside = [one for one in outside_world(scene) if one.field not in fields]
        findings += [Finding("WARNING", one.objects, one.field, one.message) for one in outside]
        findings += [*unseen(context), *instanced(scene), *scales(scene)]
        findings += [*range_of_bake(scene), *broken_glue(scene), *lost_debris(scene)]
    findings += [*bakes_of_other_files(scene), *places_of_files(scene)]
    if found.sound is not None:
        findings += yield from aside_with_kernels("Computing masses", partial(masses, found.sound.spec))
        findings += yield from aside_with_kernels("Computing centers of mass", partial(centers, found.sound.spec))
        findings += yield from aside_with_kernels("Checking hollows", partial(hollows, found.sound.spec))
    # It applies to most scenes, so it comes after the findings about this one.
    findings += product_rule(scene)
    return Look(tuple(findings), found.sound)


class Contacts:
    """The contact check, in a separate process: overlaps at the first frame, masses, sizes and speeds."""

    def __init__(self, extraction: Extraction, folder: Path | None = None):
        """Start it. folder: where the modes of flexible bodies are kept, if it is there. Raises WorkerError and OSError."""
        self._deadline = monotonic() + LONGEST_CHECK
        self.flexible: tuple[dict[str, Any], ...] = ()
        self._spec = extraction.spec
        self._folder = tempfile.TemporaryDirectory(prefix="stiction-check-", ignore_cleanup_errors=True)
        snapshot, self._answer = (Path(self._folder.name) / name for name in ("scene.snapshot", "findings.json"))
        write_snapshot(snapshot, extraction.spec, extraction.settings)
        self._errors = open(Path(self._folder.name) / "errors", "w+", encoding="utf-8")  # noqa: SIM115 (closed by `end`)
        command = [find_python(), "-s", "-P", "-m", "solver_core.check", str(snapshot), str(self._answer)]
        command += [str(folder)] if folder is not None and folder.is_dir() else []
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=self._errors,
            stderr=self._errors,
            env=worker_environment(),
            creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
        )

    @property
    def runs(self) -> bool:
        """Return True while the process runs within its time limit."""
        return self._process.poll() is None and monotonic() < self._deadline

    def findings(self) -> tuple[Finding, ...]:
        """Wait for it as long as its time lasts; returns what it found, with causes."""
        try:
            status = self._process.wait(max(self._deadline - monotonic(), 0.0))
        except subprocess.TimeoutExpired:
            kill_child(self._process)
            message = (
                f"the contact check did not end within {duration(LONGEST_CHECK)} and was stopped, so overlaps at the first "
                "frame and loads of constraints are unknown. Reduce the faces of detailed meshes, lower Substeps, or bake "
                "two frames and check the report"
            )
            return (Finding("ERROR", (), "contacts", message),)
        if status != 0:
            self._errors.seek(0)
            reason = self._errors.read().strip().splitlines()[-1:] or [f"its process ended with status {status}"]
            return (Finding("ERROR", (), "contacts", f"the contact check failed: {reason[0]}"),)
        answer = json.loads(self._answer.read_text(encoding="utf-8"))
        found = [Finding("WARNING", tuple(one["objects"]), one["field"], one["message"]) for one in answer["warnings"]]
        self.flexible = tuple(answer["flexible"])
        found = with_causes(self._spec, found)
        return (*found, *loads(answer["loads"]), *shared_reactions(answer["shared"]), *frequencies(self.flexible))

    def end(self) -> None:
        """End the process and remove its files."""
        end_child(self._process, SECONDS_TO_END)
        self._errors.close()
        self._folder.cleanup()


def unseen(context: Context) -> Iterator[Finding]:
    """Yield hidden bodies that are baked, except those shown as instances of one object."""
    shown_otherwise = {one.body for one in context.scene.stiction_display.hidden_bodies}
    bodies = [*bodies_of(context.scene.rigidbody_world), *baked_objects(context.scene)]
    hidden = {ob.name_full for ob in bodies if not ob.visible_get(view_layer=context.view_layer) and ob not in shown_otherwise}
    if hidden:
        message = "hidden, disabled in viewports or excluded from the view layer, but still baked, as in Blender"
        yield Finding("INFO", tuple(sorted(hidden)), "hidden", message)


def instanced(scene: Scene) -> Iterator[Finding]:
    """Yield instances of collections with rigid bodies, which are not simulated."""
    for ob in scene.objects:
        collection = ob.instance_collection if ob.instance_type == "COLLECTION" else None
        if collection is not None and any(one.rigid_body is not None for one in collection.all_objects):
            message = (
                f"it shows instances of the rigid bodies in {collection.name}, which are not simulated; use Object > Apply "
                "> Make Instances Real, and add the new objects to the rigid body world"
            )
            yield Finding("WARNING", (ob.name_full,), "instance_collection", message)


def bakes_of_other_files(scene: Scene) -> Iterator[Finding]:
    """Yield appended, linked or overridden bodies with the result of a bake in their own file."""
    here = baked_elsewhere(scene)
    keyed = tuple(ob.name_full for ob in here if has_keys_of_bake(ob))
    still = tuple(ob.name_full for ob in here if not has_keys_of_bake(ob))
    then = "Bake uses the state before it, and Free Bake restores that state"
    if keyed:
        yield Finding("INFO", keyed, "bake", f"they have keyframes of a bake in another file; {then}")
    if still:
        message = f"they come from a bake in another file, whose frames play only there, so they do not move; {then}"
        yield Finding("WARNING", still, "bake", message)
    linked = tuple(ob.name_full for ob in linked_and_baked(scene))
    if linked:
        message = "they are linked from a file in which they are baked, so here they are Animated and follow its keyframes"
        yield Finding("INFO", linked, "library", message)


def product_rule(scene: Scene) -> Iterator[Finding]:
    """Yield a note about the pair friction that the scene's rule gives for the most common coefficient."""
    plain = [ob for ob in bodies_of(scene.rigidbody_world) if not ob.stiction.use_mu_static]
    rule = effective_rule(scene)
    common = Counter(round(ob.rigid_body.friction, 6) for ob in plain).most_common()
    mu = next((mu for mu, _ in common if rule.pair(mu, mu) < SURPRISING_SHARE * mu), None)
    if mu is not None:
        pair = rule.pair(mu, mu)
        message = (
            f"two surfaces of {mu:.3g} have a friction of {pair:.3g}, because Blender multiplies: a body that holds at "
            f"{mu:.3g} may slide. Give them materials, or choose Combine Friction: Geometric Mean, which keeps the value"
        )
        yield Finding("INFO", (), "friction_combine", message)


def scales(scene: Scene) -> Iterator[Finding]:
    bodies = bodies_of(scene.rigidbody_world)
    scaled = {ob.name_full: np.array(ob.scale) for ob in bodies if np.abs(np.array(ob.scale) - 1.0).max() > UNSCALED}
    uneven = tuple(name for name, scale in scaled.items() if np.ptp(np.abs(scale)) > UNSCALED)
    even = tuple(name for name in scaled if name not in uneven)
    for names, defect in ((uneven, "not equal along all axes"), (even, "not applied")):
        if names:
            message = f"the scale is {defect}; collision shapes have the size seen in the viewport"
            yield Finding("INFO", names, "scale", message)


def masses(spec: SceneSpec) -> list[Finding]:
    """Return the masses that follow from densities, grouped by density."""
    found: dict[float, dict[str, float]] = {}
    for body in spec.bodies:
        if body.density is not None and body.kind is BodyKind.ACTIVE:
            of_density = found.setdefault(body.density, {})
            of_density[body.name] = body_mass_properties(body).mass
    findings = []
    for density, weighed in sorted(found.items()):
        lightest, heaviest = min(weighed.values()), max(weighed.values())
        each = f"{figure(heaviest, 4)} kg" if lightest == heaviest else f"{figure(lightest, 4)} to {figure(heaviest, 4)} kg"
        in_all = f", {figure(sum(weighed.values()), 4)} kg in all" if len(weighed) > 1 else ""
        findings.append(Finding("INFO", tuple(weighed), "density", f"a density of {density:.6g} kg/m³ gives {each}{in_all}"))
    return findings


def centers(spec: SceneSpec) -> list[Finding]:
    """Return the bodies whose origin, Blender's center of mass, is far from the center of their volume."""
    far = origins_off_center(spec)
    if not far:
        return []
    name, largest = max(far.items(), key=lambda item: item[1])
    away = (
        f"{distance(largest)} from its center of mass"
        if len(far) == 1
        else f"up to {distance(largest)} ({name}) from the center of mass"
    )
    message = (
        f"the origin is {away}: Blender uses the origin, Stiction the center of the volume. Choose Center of "
        "Mass: Origin if the origin was placed on purpose"
    )
    return [Finding("INFO", tuple(far), "center_of_mass", message)]


def hollows(spec: SceneSpec) -> list[Finding]:
    """Return the bodies whose hull fills a hollow that others could enter. They rest on its opening, as in Blender."""
    rooms = rooms_in_hulls(spec)
    if not rooms:
        return []
    name, others = max(rooms.items(), key=lambda item: len(item[1]))
    guests = others[0] if len(others) == 1 else f"{others[0]} and {len(others) - 1} more"
    enter = "does not enter it" if len(others) == 1 else "do not enter it"
    where = f"the hull fills the hollow of {name}" if len(rooms) == 1 else f"hulls fill hollows, such as that of {name}"
    message = f"{where}, so {guests} {enter}: choose the shape Mesh for bodies with others inside"
    return [Finding("INFO", tuple(rooms), "hollow", message)]


def loads(of_joints: dict[str, list[float]]) -> Iterator[Finding]:
    """Yield the loads of breakable constraints at the start. of_joints: load and threshold of each, N s per time step."""
    largest = max((bears for bears, _ in of_joints.values()), default=0.0)
    if not largest > 0.0:
        return
    breaking = {name: bears for name, (bears, breaks_at) in of_joints.items() if bears >= breaks_at}
    if breaking:
        count = f"{len(breaking)} of {len(of_joints)} breakable constraints break" if len(of_joints) > 1 else "it breaks"
        message = f"{count} in the first two frames: their loads are up to {figure(max(breaking.values()))} N s in a time step"
        yield Finding("WARNING", tuple(breaking), "breaking_threshold", message, tuple(breaking.values()))
        return
    share = max(bears / breaks_at for bears, breaks_at in of_joints.values())
    message = (
        f"loads of breakable constraints are up to {figure(largest)} N s in a time step of the first two frames, at most "
        f"{figure(100.0 * share, 2)} % of their thresholds"
    )
    yield Finding("INFO", tuple(of_joints), "breaking_threshold", message, tuple(bears for bears, _ in of_joints.values()))


def shared_reactions(of_joints: dict[str, bool]) -> Iterator[Finding]:
    """Yield constraints whose reactions are not unique. of_joints: by name, whether they are breakable."""
    breakable = tuple(name for name, may_break in of_joints.items() if may_break)
    lasting = tuple(name for name, may_break in of_joints.items() if not may_break)
    why = "they hold the same bodies redundantly, and can push against each other without moving anything"
    if breakable:
        message = f"how {len(breakable)} breakable constraints share a load, and which breaks first, is not unique: {why}"
        yield Finding("WARNING", breakable, "reactions", message)
    if lasting:
        message = f"the reactions of {len(lasting)} constraints are not unique, but the motion is: {why}"
        yield Finding("INFO", lasting, "reactions", message)


def frequencies(entries: Iterable[Mapping[str, Any]]) -> Iterator[Finding]:
    """Yield the frequencies of flexible bodies, grouped by equal bodies."""
    by_words: dict[str, list[str]] = {}
    for entry in entries:
        last = entry["frequencies"][-1]
        message = f"{entry['words']} (the last has {figure(last)} Hz), {entry['bricks']} bricks"
        by_words.setdefault(message, []).append(entry["body"])
    for message, names in by_words.items():
        yield Finding("INFO", tuple(names), "modes", message)


def places_of_files(scene: Scene) -> Iterator[Finding]:
    folder = scene.stiction.cache_directory
    if not bpy.data.filepath and folder.startswith("//"):
        yield Finding(
            "INFO", (), "cache_directory", "the file is not saved, so its frames are lost when Blender quits; save it first"
        )
        return
    path = Path(bpy.path.abspath(folder))
    there = next((one for one in (path, *path.parents) if one.exists()), path)
    if not there.is_dir() or not os.access(there, os.W_OK):
        yield Finding("ERROR", (), "cache_directory", f"the cache folder {path} cannot be written to; choose another one")


def objects_of(scene: Scene, names: Iterable[str]) -> list[Object]:
    """Return the objects of the scene with these full names."""
    by_name = {ob.name_full: ob for ob in scene.objects}
    return [by_name[name] for name in names if name in by_name]
