# SPDX-License-Identifier: GPL-3.0-or-later
"""A stranger's .blend files and command lines: each case, by its number, comes out as a clear error or as a right result.

What may be seen of what `spoiling.py` wrote is what the command line, an operator or a panel says; a trace, a crash, and a file
outside of the room are findings.
"""

from __future__ import annotations

import contextlib
import dataclasses
import io
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import bpy
import numpy as np

from ..core.fuzzing import Finding
from ..core.spoiling import Random, spoilt
from .objects import box_mesh
from .spoiling import CHANGES, chosen

__all__ = ["KINDS", "Room"]

LAST_FRAME = 4
SHORT = ("--start", "1", "--end", str(LAST_FRAME), "--substeps", "3", "--step-time-limit", "0.2", "--max-iterations", "50")


@dataclasses.dataclass(frozen=True)
class Room:
    """What cases begin with: .blend files with a bake whose contacts were kept, and room for their files."""

    path: Path
    sound: dict[str, bytes]

    @classmethod
    def made(cls, path: Path) -> Room:
        """The room with a bake of its own; the extension has to be registered."""
        bpy.ops.wm.read_factory_settings(use_empty=True)
        scene = bpy.context.scene
        bpy.ops.rigidbody.world_add()
        world = scene.rigidbody_world
        world.collection, world.constraints = bpy.data.collections.new("Bodies"), bpy.data.collections.new("Joints")
        world.point_cache.frame_start, world.point_cache.frame_end = 1, LAST_FRAME
        scene.stiction.cache_directory, scene.stiction.keep_contacts = "//cache", True
        for name, z in (("Floor", -0.5), ("Low", 0.1), ("High", 0.301)):
            half = (5.0, 5.0, 0.5) if name == "Floor" else (0.1, 0.1, 0.1)
            ob = bpy.data.objects.new(name, box_mesh(name, half))
            scene.collection.objects.link(ob)
            world.collection.objects.link(ob)
            ob.location.z, ob.rigid_body.collision_shape = z, "BOX"
            ob.rigid_body.type = "PASSIVE" if name == "Floor" else "ACTIVE"
        joint = bpy.data.objects.new("Joint", None)
        scene.collection.objects.link(joint)
        world.constraints.objects.link(joint)
        joint.rigid_body_constraint.object1, joint.rigid_body_constraint.object2 = bpy.data.objects["Low"], ob
        bpy.context.view_layer.objects.active = ob
        bpy.ops.wm.save_as_mainfile(filepath=str(path / "sound.blend"))
        if bpy.ops.stiction.bake() != {"FINISHED"} or bpy.ops.stiction.add_contact_points() != {"FINISHED"}:
            raise Finding("the bake to begin with failed")
        bpy.ops.wm.save_mainfile()
        bpy.ops.stiction.add_pieces()
        bpy.ops.wm.save_as_mainfile(filepath=str(path / "pieces.blend"))
        for file in (path / "cache").iterdir():
            shutil.copy(file, path / f"sound{file.suffix}")
        shutil.rmtree(path / "cache")
        return cls(path, {file.name: file.read_bytes() for file in path.iterdir()})

    def begin(self, random: Random) -> Path:
        """A folder for a case, with a sound .blend file in it, and a cache that may be spoilt; deep, for paths climb."""
        shutil.rmtree(self.path / "deep", ignore_errors=True)
        folder = self.path / "deep" / "er" / "still"
        (folder / "cache").mkdir(parents=True)
        shutil.copy(self.path / ("pieces.blend" if random.integers(0, 4) == 0 else "sound.blend"), folder / "case.blend")
        with quiet():
            bpy.ops.wm.open_mainfile(filepath=str(folder / "case.blend"))
        cache = folder / "cache" / Path(bpy.context.scene.stiction.bake.cache.removeprefix("//")).name
        for file in (cache, cache.with_suffix(".snapshot")):
            match random.integers(0, 6):
                case 0:
                    file.write_bytes(spoilt(random, self.path / f"sound{file.suffix}")[0])
                case 1:
                    file.mkdir()
                case 2:
                    continue
                case _:
                    shutil.copy(self.path / f"sound{file.suffix}", file)
        return folder


@contextlib.contextmanager
def quiet() -> Iterator[io.StringIO]:
    """What Python prints meanwhile, Blender's handlers among others."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        yield said


def heard(act: Callable[[], Any]) -> tuple[Any, str]:
    """What an action returns, and what it says; an operator's error is what it says."""
    with quiet() as said:
        try:
            result = act()
        except RuntimeError as error:
            # Blender's own way to tell of what an operator reports as an error, or of a poll
            result = None
            print(error)
    if "Traceback" in said.getvalue():
        raise Finding(said.getvalue())
    return result, said.getvalue()


class Layout:
    """Stands for a panel's layout: what is drawn has to be there."""

    def prop(self, owner: Any, name: str, **_: Any) -> Layout:
        getattr(owner, name)
        return self

    def operator(self, *_: Any, **__: Any) -> SimpleNamespace:
        return SimpleNamespace()

    def __getattr__(self, name: str) -> Any:
        return lambda *_, **__: self


class Window:
    """Stands for a context that has a region, and a scale."""

    region = SimpleNamespace(width=300)
    preferences = SimpleNamespace(system=SimpleNamespace(ui_scale=1.0))

    def __getattr__(self, name: str) -> Any:
        return getattr(bpy.context, name)


def draw_panels() -> None:
    """Draw all of our panels that are to be seen now."""
    context = Window()
    for panel in bpy.types.Panel.__subclasses__():
        if panel.__name__.startswith("STICTION_PT") and (not hasattr(panel, "poll") or panel.poll(context)):
            panel.draw(SimpleNamespace(layout=Layout()), context)


def command(*arguments: object) -> int:
    """The command line's status."""
    from stiction.addon.command import cli

    status, said = heard(lambda: cli.run([str(argument) for argument in arguments]))
    if status not in (0, 1, 2, 3) or (status in (1, 2) and not said.strip()):
        raise Finding(f"{arguments}: status {status}, said {said!r}")
    return status


def look_at_bake() -> None:
    """What the panels and the timeline tell of a bake."""
    from stiction.addon.bake.outdated import changes, what_is_lost

    for scene in bpy.data.scenes:
        what_is_lost(scene)
        # a scene without a rigid body world is not looked at
        if scene.rigidbody_world is not None:
            changes(scene)


def check(random: Random, folder: Path) -> None:
    # it starts a process
    if random.integers(0, 2):
        command("check", folder / "case.blend", *SHORT)


def report(random: Random, folder: Path) -> None:
    command("report", "-o", folder / f"out{chosen(random, ('.html', '.csv', '.json'))}")


def impacts(random: Random, folder: Path) -> None:
    command("impacts", "-o", folder / "out.csv")


def bake(random: Random, folder: Path) -> None:
    keep = chosen(random, ([], ["--resume"], ["--keep-to", "2"]))
    files = ["-o", folder / "baked.blend", "--report", folder / "out.json"]
    if random.integers(0, 2) and command("bake", *SHORT, *keep, *files) in (0, 3):
        must_be_finite(folder / "baked.blend")


def operate(random: Random, folder: Path) -> None:
    ours = bpy.ops.stiction
    measure = chosen(random, ("residual", "overlap", "iterations", "seconds"))
    operators = (
        *(ours.free_bake, ours.bake_to_keyframes, ours.remove_pieces, ours.add_pieces, ours.copy_to_selected),
        *(ours.add_pair, ours.remove_pair, ours.reactions_to_curves, lambda: ours.jump_to_worst(measure=measure)),
    )
    heard(chosen(random, operators))


def save_elsewhere(random: Random, folder: Path) -> None:
    heard(lambda: bpy.ops.wm.save_as_mainfile(filepath=str(folder.parent / "moved.blend")))


def draw(random: Random, folder: Path) -> None:
    heard(draw_panels)


def show_a_frame(random: Random, folder: Path) -> None:
    frame, part = int(random.integers(-2, 8)), float(chosen(random, (0.0, 0.5)))
    heard(lambda: bpy.context.scene.frame_set(frame, subframe=part))


# What a user or a farm does with the file that is open.
ACTS = (check, report, impacts, bake, save_elsewhere, draw, draw, *[operate] * 4, *[show_a_frame] * 3)


def must_be_finite(file: Path) -> None:
    heard(lambda: bpy.ops.wm.open_mainfile(filepath=str(file)))
    heard(lambda: bpy.context.scene.frame_set(LAST_FRAME))
    for ob in bpy.data.objects:
        if ob.stiction.backup.baked and not np.isfinite(np.array(ob.matrix_world)).all():
            raise Finding(f"{ob.name} was baked to where no place is")


def a_blend(random: Random, room: Room) -> None:
    """A stranger's .blend file, opened, looked at and used."""
    folder = room.begin(random)
    scene = bpy.context.scene
    with contextlib.chdir(folder):
        for _ in range(random.integers(1, 5)):
            if len(scene.objects):
                with quiet():
                    chosen(random, CHANGES)(random, scene, chosen(random, list(scene.objects)))
        file = folder / "case.blend"
        heard(lambda: bpy.ops.wm.save_as_mainfile(filepath=str(file)))
        heard(lambda: bpy.ops.wm.open_mainfile(filepath=str(file)))
        heard(look_at_bake)
        for _ in range(random.integers(2, 6)):
            chosen(random, ACTS)(random, folder)
            heard(look_at_bake)


WORDS = (
    "",
    "-",
    "--",
    "x",
    "é",
    "a" * 300,
    "--help",
    "-h",
    "-o",
    "nan",
    "inf",
    "-1",
    "0",
    "1",
    "3",
    "1e400",
    "1e-3",
    "10**9",
)
ASSIGNMENTS = (
    "Low:friction=0.6",
    "Low:friction=nan",
    ":=",
    "Low:=1",
    "No:mass=1",
    "Floor:density=1e300",
    "Low:name=1",
    "Low:mass=",
)
FILES = ("case.blend", "case.blend", "nothing.blend", ".", "cache", "text.blend", "../x/y.blend", "/dev/null")
OUTPUTS = ("out.blend", "case.blend", "out.html", "out.csv", "out.json", "nowhere/out.blend", ".", "/dev/null/x", "out.txt")
OPTIONS = {
    "bake": (
        *(*SHORT[::2], "--resume", "--keep-to", "--contacts", "--report"),
        *("--keys-step", "--keys-within", "--keys-per-frame"),
    ),
    "check": (
        *SHORT[::2],
        "--report",
        "--tolerance",
        "--moving-tolerance",
        "--crowd-tolerance",
        "--crowd-limit",
        "--method",
        "--staggering",
        "--cache",
        "--set",
    ),
    "report": ("-o", "--output"),
    "impacts": ("-o", "--output"),
    "compile": ("--processes",),
}


def a_command(random: Random, room: Room) -> None:
    """A command line of the extension, on files that may be sound, spoilt, folders or not there."""
    folder = room.begin(random)
    (folder / "text.blend").write_text("no file of Blender's")
    name = chosen(random, [*OPTIONS, "bake", "check", "no"])
    arguments: list[str] = [] if random.integers(0, 6) == 0 else [str(chosen(random, FILES))]
    if name in ("bake", "report", "impacts") and random.integers(0, 6):
        arguments += ["-o", str(chosen(random, OUTPUTS))]
    for _ in range(random.integers(0, 4)):
        option = chosen(random, OPTIONS.get(name, ("--x",)))
        given = (
            [chosen(random, ASSIGNMENTS)]
            if option == "--set"
            else [chosen(random, WORDS) for _ in range(random.integers(0, 3))]
        )
        at = int(random.integers(0, len(arguments) + 1))
        arguments[at:at] = [option, *given]
    if name == "compile":
        # all else would compile for minutes
        arguments += ["--processes", "x"]
    elif name in ("bake", "check") and random.integers(0, 8):
        arguments += SHORT
    with contextlib.chdir(folder):
        command(name, *arguments)
        heard(look_at_bake)


KINDS: dict[str, Callable[[Random, Room], None]] = {"blend": a_blend, "command of the add-on": a_command}
