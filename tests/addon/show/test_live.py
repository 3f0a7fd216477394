# SPDX-License-Identifier: GPL-3.0-or-later
"""A scene that plays: objects follow the simulation, a pull moves what it holds, and nothing of it stays in the file."""

from __future__ import annotations

import time
from functools import partial
from types import SimpleNamespace

import bpy
import numpy as np
import pytest

from ..dump import dump
from ..objects import read, world_matrix

SECONDS = 600.0  # for a process to load, on a machine that is as busy as it may be


def followed(live, done):
    """Show what comes until something holds."""
    end = time.monotonic() + SECONDS
    while not done():
        assert not live.over, live.over
        assert time.monotonic() < end
        live.follow(bpy.context)
        time.sleep(0.01)


@pytest.fixture
def falling(scene, make_body):
    floor = make_body("Floor", kind="PASSIVE")
    floor.scale, floor.location = (20.0, 20.0, 1.0), (0.0, 0.0, -0.1)
    box = make_body("Box")
    box.location = (0.0, 0.0, 0.6)
    return box


@pytest.fixture
def playing(falling):
    from stiction.addon.show.live import Live

    live = Live(bpy.context, read())
    yield live
    live.end()


@pytest.mark.slow
def test_objects_follow_a_hand_pulls_and_all_is_as_it_was(scene, falling):
    from stiction.addon.show.live import Live

    scene.frame_set(3)
    before = dump()
    live = Live(bpy.context, read())
    assert not scene.rigidbody_world.enabled
    followed(live, lambda: world_matrix(falling)[2, 3] < 0.11)
    corner = np.array([0.3, 0.2, 0.1])
    point = live.point_of(falling, live.place_of(falling, corner))
    np.testing.assert_allclose(point, corner, atol=1e-9)
    live.pull(falling, corner, np.array([1.0, 0.5, 1.5]))
    followed(live, lambda: np.linalg.norm(live.place_of(falling, corner) - [1.0, 0.5, 1.5]) < 0.1)
    # the object is where its body is
    corner_seen = world_matrix(falling) @ [*corner, 1.0]
    np.testing.assert_allclose(corner_seen[:3], live.place_of(falling, corner), atol=1e-5)
    live.let_go()
    followed(live, lambda: world_matrix(falling)[2, 3] < 0.35)
    live.end()
    assert scene.rigidbody_world.enabled
    assert dump() == before


def test_a_play_whose_kernels_are_compiled_first_says_so_with_their_count(falling, monkeypatch):
    from stiction.addon.bake.job import WorkerMessage
    from stiction.addon.show import live

    told = []
    monkeypatch.setattr(live, "started", lambda _module, events, *_: told.append(events) or SimpleNamespace(close=lambda: None))
    playing = live.Live(bpy.context, read())
    told[0].put(WorkerMessage({"event": "compiled", "kernels": 12, "there": 136, "whole": 544, "left": 75.0}))
    assert not playing.follow(bpy.context)
    assert "136 kernels of at most 544" in playing.status and "1:15 min left" in playing.status
    playing.end()


@pytest.mark.slow
def test_a_pause_holds_it_and_a_process_that_dies_is_told(playing, falling):
    followed(playing, lambda: world_matrix(falling)[2, 3] < 0.5)
    playing.pause(True)
    time.sleep(0.5)
    playing.follow(bpy.context)
    height = world_matrix(falling)[2, 3]
    time.sleep(0.5)
    assert not playing.follow(bpy.context)
    assert world_matrix(falling)[2, 3] == height
    playing.pause(False)
    followed(playing, lambda: world_matrix(falling)[2, 3] != height)

    # a process that dies is told
    followed(playing, partial(playing.can_pull, falling))
    playing._process.kill()
    end = time.monotonic() + SECONDS
    while not playing.over and time.monotonic() < end:
        playing.follow(bpy.context)
        time.sleep(0.01)
    assert "has ended" in playing.over


def test_what_is_not_moved_by_the_solver_cannot_be_pulled(scene, make_body):
    from stiction.addon.show.live import Live

    floor, box = make_body("Floor", kind="PASSIVE"), make_body("Box")
    floor.location = (0.0, 0.0, -1.0)
    live = Live(bpy.context, read())
    try:
        # before the first frame nothing can
        assert not live.can_pull(box)
        live._poses = np.tile([0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0], (2, 1))
        assert live.can_pull(box) and not live.can_pull(floor)
    finally:
        live.end()


def test_without_a_window_nothing_plays(scene, make_body):
    make_body("Box")
    with pytest.raises(RuntimeError, match="no viewport"):
        bpy.ops.stiction.play("INVOKE_DEFAULT")


def test_the_status_bar_is_written_when_its_text_changes_and_not_at_every_tick(extension):
    """Blender draws its window again for each text, which took two thirds of a processor that compiles kernels."""
    from stiction.addon.show.play import STICTION_OT_play

    said: list[str] = []
    operator = SimpleNamespace(_status="")
    context = SimpleNamespace(workspace=SimpleNamespace(status_text_set=said.append))
    for status in ("Frame 1", "Frame 1", "Frame 2"):
        STICTION_OT_play.show_status(operator, context, status)
    assert len(said) == 2 and "Frame 1" in said[0] and "Frame 2" in said[1]
