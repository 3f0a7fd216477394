# SPDX-License-Identifier: GPL-3.0-or-later
"""Blender as a module with the add-on registered, one fresh file a test.

What is faked and what is real: Blender, its files and the cache format are always real. `fake_worker` puts rigid motions of the
test's choice in place of the simulation; the tests in test_whole.py use the real worker process.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import ModuleType

from .loading import load_extension

# isort: split
# Only now, for Blender looks for its settings when it is imported.
import bpy
import numpy as np
import pytest

from .objects import box_mesh
from .planks import make_flexible, plank_mesh


@pytest.hookimpl(tryfirst=True)
def pytest_fixture_setup() -> None:
    forget_the_name_of_the_test()


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call() -> None:
    forget_the_name_of_the_test()


def forget_the_name_of_the_test() -> None:
    """Take the test's name, which pytest writes there, from the environment.

    A worker is asked for another bake only in the environment that it was started in. Without the name all tests share one.
    """
    os.environ.pop("PYTEST_CURRENT_TEST", None)


@pytest.fixture(scope="session")
def extension() -> Iterator[ModuleType]:
    module = load_extension()
    module.register()
    yield module
    module.unregister()


@pytest.fixture
def scene(extension: ModuleType, tmp_path: Path) -> bpy.types.Scene:
    """An empty scene with a rigid body world of 5 frames, whose cache folder belongs to the test."""
    bpy.ops.wm.read_factory_settings(use_empty=True)
    scene = bpy.context.scene
    bpy.ops.rigidbody.world_add()
    scene.rigidbody_world.collection = bpy.data.collections.new("RigidBodyWorld")
    scene.rigidbody_world.point_cache.frame_start = 1
    scene.rigidbody_world.point_cache.frame_end = scene.frame_end = 5
    scene.stiction.cache_directory = str(tmp_path / "cache")
    return scene


@pytest.fixture
def make_body(scene: bpy.types.Scene) -> Callable[..., bpy.types.Object]:
    """Adds a rigid body: a box mesh with distinct half widths, so that no two axes can be mistaken for each other."""

    def make(name: str = "Body", *, kind: str = "ACTIVE", shape: str = "CONVEX_HULL", mesh: bpy.types.Mesh | None = None):
        ob = bpy.data.objects.new(name, mesh or box_mesh(name, (0.3, 0.2, 0.1)))
        scene.collection.objects.link(ob)
        scene.rigidbody_world.collection.objects.link(ob)
        ob.rigid_body.type = kind
        ob.rigid_body.collision_shape = shape
        return ob

    return make


@pytest.fixture
def make_plank(make_body: Callable[..., bpy.types.Object]) -> Callable[..., bpy.types.Object]:
    """Adds an active board that bends."""

    def make(name: str = "Plank", mesh: bpy.types.Mesh | None = None) -> bpy.types.Object:
        ob = make_body(name, shape="MESH", mesh=mesh or plank_mesh(name))
        make_flexible(ob)
        return ob

    return make


def swinging(count: int, number: int) -> np.ndarray:
    """How far each mode of what bends is out: none of them at the first frame, then each its own way."""
    return 0.02 * np.sin(0.7 * (number - 1) * (1 + np.arange(count)))


@pytest.fixture
def fake_worker(extension: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> type:
    """Replaces the worker process: body number b follows displacement(b, frame), a (4, 4) rigid motion, from its first pose."""
    from stiction.addon.bake import job, runner
    from stiction.addon.blender import rotations
    from stiction.solver_core.dynamics.model.frame import Frame, FrameContacts, FrameImpacts
    from stiction.solver_core.dynamics.solve.outcome import frame_statistics
    from stiction.solver_core.io.kept_modes import scene_modes
    from stiction.solver_core.io.snapshot import file_digest, read_snapshot
    from stiction.solver_core.scene.spec import BodyKind
    from stiction.solver_core.worker import open_cache

    # what bends is computed once for all tests
    modes = tmp_path_factory.getbasetemp() / "modes"

    class FakeWorker:
        status = 0
        last_frame: int | None = None
        warnings: tuple[dict, ...] = ()
        capture: tuple[str, ...] = ()
        modal = staticmethod(swinging)

        @staticmethod
        def displacement(body: int, frame: int) -> np.ndarray:
            """A screw that is another one for every body, and turns on past a full circle."""
            axis = np.random.default_rng(body).normal(size=3)
            angle = 1.7 * (frame - 1)
            result = np.eye(4)
            turn = np.concatenate([[np.cos(angle / 2)], np.sin(angle / 2) * axis / np.linalg.norm(axis)])
            result[:3, :3] = rotations.matrix_of_quaternion(turn)
            result[:3, 3] = axis * 0.3 * (frame - 1)
            return result

        def __init__(
            self,
            snapshot: Path,
            cache: Path,
            *,
            resume: bool = False,
            contacts: bool = False,
            threads: int = 0,
            capture: Sequence[str] = (),
            report: Path | None = None,
            idle: object = None,
        ):
            (self.spec, self.settings), self.digest = read_snapshot(snapshot), file_digest(snapshot)
            self.cache, self.resume, self.report, self.contacts, self.threads = cache, resume, report, contacts, threads
            self.idle = idle
            type(self).capture = tuple(capture)

        def all_events(self, check=lambda: None):
            spec = self.spec
            yield job.WorkerMessage({"event": "compiling"})
            last = spec.frame_end if type(self).last_frame is None else type(self).last_frame
            with open_cache(str(self.cache), spec, self.settings, self.digest, resume=self.resume) as writer:
                writer.modes = scene_modes(spec, modes)
                self.number_of_modes = sum(len(body.omega) for body in writer.modes.reduced)
                started = {"frame_start": spec.frame_start, "frame_end": spec.frame_end, "resumed_from": writer.last_frame}
                yield job.WorkerMessage({"event": "started", "bodies": len(spec.bodies), **started})
                for warning in type(self).warnings:
                    yield job.WorkerMessage({"event": "warning", **warning})
                for frame in range((writer.last_frame or spec.frame_start - 1) + 1, last + 1):
                    writer.append(self.frame(frame), {})
                    numbers = {
                        "contacts": 0,
                        "iterations": 0,
                        "worst_error": 0.0,
                        "missed": 0,
                        "moving": 0,
                        "deepest_overlap": 0.0,
                        "overlap_ratio": 0.0,
                        "deepest_pair": [],
                        "found": {},
                    }
                    yield job.WorkerMessage({"event": "frame", "frame": frame, "seconds": 0.0, **numbers})
            if type(self).status in (0, 3):
                missed = 1 if type(self).status == 3 else 0
                yield job.WorkerMessage({"event": "finished", "frames": last, "missed_steps": missed, "seconds": 0.0})
            yield job.WorkerEnded(type(self).status, "trouble")

        def frame(self, number: int) -> Frame:
            poses = []
            for index, body in enumerate(self.spec.bodies):
                moved = np.eye(4) if body.kind is not BodyKind.ACTIVE else self.displacement(index, number)
                turn = moved[:3, :3] @ rotations.matrix_of_quaternion(body.orientation)
                place = moved[:3, :3] @ body.position + moved[:3, 3]
                poses.append(np.concatenate([place, rotations.quaternion_of_matrix(turn)]))
            contacts = self.contacts_at(number) if self.contacts and number > self.spec.frame_start else None
            count = len(self.spec.joints)
            joints = {"reactions": np.zeros((count, 6)), "broken": np.zeros(count, dtype=bool), "giving_way": np.zeros(count)}
            rest = np.zeros((len(poses), 6))
            modal = self.modal(self.number_of_modes, number)
            return Frame(number, np.array(poses), rest, frame_statistics([]), **joints, contacts=contacts, modal=modal)

        def contacts_at(self, number: int) -> FrameContacts:
            """Three contacts of the first two bodies, of each state one, above each other; 3 N, friction 1 N along x."""
            rows = [1, 2, 0]
            up, along = np.tile([0.0, 0.0, 1.0], (3, 1)), np.tile([1.0, 0.0, 0.0], (3, 1))
            bears = np.array([1.0, 1.0, 0.0], np.float32)
            first, second = np.zeros(3, np.int32), np.ones(3, np.int32)
            impacts = FrameImpacts(
                time=np.array([(number - 1.5) / 24.0]),
                body_a=first[:1],
                body_b=second[:1],
                point=np.float32([[0.0, 0.0, number]]),
                normal=np.float32(up[:1]),
                impulse=np.ones(1, np.float32),
                speed=np.full(1, 2.0, np.float32),
                energy=np.ones(1, np.float32),
            )
            return FrameContacts(
                body_a=first,
                body_b=second,
                point=np.float32([[0.0, 0.0, number + row] for row in rows]),
                normal=np.float32(up),
                force=3.0 * bears,
                friction=np.float32(bears[:, None] * along),
                slip=np.float32(np.where(np.array(rows)[:, None] == 2, -along, 0.0)),
                gap=np.float32([0.0, 0.0, 1e-3]),
                mu=np.full(3, 0.5, np.float32),
                ellipse=np.zeros((3, 2, 3), np.float32),
                state=np.array(rows, np.uint8),
                impacts=impacts,
            )

        def stop(self) -> None:
            pass

        def end(self) -> None:
            pass

    monkeypatch.setattr(runner, "Worker", FakeWorker)
    return FakeWorker
