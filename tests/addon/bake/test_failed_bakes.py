# SPDX-License-Identifier: GPL-3.0-or-later
"""A bake that is refused, fails, stops, is undone or loses its cache says so, and leaves what there was."""

from __future__ import annotations

from pathlib import Path

import bpy
import pytest

from ..bakes import bake, busy_body, closeness, expected, played
from ..dump import differences, dump
from ..objects import world_matrix


def test_bad_input_is_named_and_changes_nothing(make_body, fake_worker):
    from stiction.addon.panels.operators import STICTION_OT_bake

    busy_body(make_body)
    make_body("Childless", shape="COMPOUND")
    make_body("Flat").scale.x = 0.0
    bpy.context.scene.frame_set(3)
    before = dump()
    with pytest.raises(RuntimeError) as caught:
        bpy.ops.stiction.bake()
    assert "Childless: collision shape" in str(caught.value) and "Flat: scale" in str(caught.value)
    assert differences(before, dump()) == []
    shown = [message.name for message in bpy.context.window_manager.stiction.messages if message.is_error]
    assert any(line.startswith("Childless: collision shape") for line in shown)
    assert STICTION_OT_bake.bl_label == "Bake"


def test_bad_input_leaves_an_earlier_bake_as_it_is(make_body, fake_worker):
    ob = busy_body(make_body)
    bake()
    shown = played([ob])
    bpy.context.scene.frame_set(3)
    before = dump()
    make_body("Childless", shape="COMPOUND")
    with pytest.raises(RuntimeError):
        bpy.ops.stiction.bake()
    bpy.data.objects.remove(bpy.data.objects["Childless"])
    bpy.data.meshes.remove(bpy.data.meshes["Childless"])
    assert differences(before, dump()) == []
    assert closeness(played([ob]), shown) < 1e-6


@pytest.mark.parametrize("status", [1, 2])
def test_a_worker_that_fails_before_the_first_frame_changes_nothing(make_body, fake_worker, monkeypatch, status):
    from stiction.addon.bake import job

    busy_body(make_body)
    bpy.context.scene.frame_set(1)
    before = dump()
    monkeypatch.setattr(fake_worker, "all_events", lambda self, check: iter([job.WorkerEnded(status, "no memory")]))
    with pytest.raises(RuntimeError, match="no memory"):
        bpy.ops.stiction.bake()
    assert differences(before, dump()) == []


def test_a_bake_that_stopped_half_way_plays_what_there_is(make_body, fake_worker):
    ob = make_body()
    rest = world_matrix(ob)[None]
    wanted = expected(fake_worker, [ob], rest)
    fake_worker.last_frame, fake_worker.status = 3, 1
    with pytest.raises(RuntimeError, match="trouble"):
        bpy.ops.stiction.bake()
    scene = bpy.context.scene
    assert scene.stiction.bake.state == "CACHED" and scene.stiction.bake.last_frame == 3
    shown = played([ob])
    assert closeness(shown[:3], wanted[:3]) < 2e-6 and closeness(shown[3:], wanted[[2, 2]]) < 2e-6


@pytest.mark.parametrize("frame", [1, 3, 5])
def test_undo_during_a_bake_does_not_throw_it_away(make_body, fake_worker, monkeypatch, frame):
    """What is undone is something that was done since the click on Bake, which is no step of undo itself before it is over."""
    from stiction.addon.bake import job, runner

    ob = make_body()
    wanted = expected(fake_worker, [ob], world_matrix(ob)[None])
    bpy.context.scene.frame_set(1)
    before = dump()
    stopped = []
    plain = fake_worker.all_events

    def undone(self, check):
        for event in plain(self):
            if isinstance(event, job.WorkerMessage) and event.record.get("frame") == frame:
                # What undo does, which background mode does not have.
                runner.free(bpy.context.scene)
            yield event

    monkeypatch.setattr(fake_worker, "all_events", undone)
    monkeypatch.setattr(fake_worker, "stop", lambda self: stopped.append(True))
    bpy.ops.stiction.bake()
    bake = bpy.context.scene.stiction.bake
    assert (stopped, bake.state, bake.last_frame) == ([], "CACHED", 5)
    assert closeness(played([ob]), wanted) < 2e-6
    bpy.context.scene.frame_set(1)
    bpy.ops.stiction.free_bake()
    assert differences(before, dump()) == []


def test_another_file_is_left_alone_by_a_bake_that_was_begun_before_it(make_body, fake_worker, monkeypatch):
    from stiction.addon.bake import job

    make_body()
    stopped = []
    plain = fake_worker.all_events

    def opened(self, check):
        for event in plain(self):
            if isinstance(event, job.WorkerMessage) and event.record.get("frame") == 3:
                bpy.ops.wm.read_factory_settings()
                assert "Scene" in bpy.data.scenes
            yield job.WorkerEnded(-15) if stopped else event

    monkeypatch.setattr(fake_worker, "all_events", opened)
    monkeypatch.setattr(fake_worker, "stop", lambda self: stopped.append(True))
    from stiction.addon.bake.runner import begin
    from stiction.addon.blender.cooperative import at_once

    at_once(begin(bpy.context, lambda level, text: None)).run()
    assert stopped == [True] and bpy.data.scenes["Scene"].stiction.bake.state == "NONE"


def test_a_missed_tolerance_is_said_and_the_bake_is_kept(make_body, fake_worker):
    make_body()
    fake_worker.status = 3
    bake()
    record = bpy.context.scene.stiction.bake
    assert record.state == "CACHED" and record.missed_steps == 1 and "did not converge" in record.summary


def test_a_cache_that_is_gone_or_damaged_is_said_and_changes_nothing(make_body, fake_worker):
    make_body()
    bake()
    cache = Path(bpy.context.scene.stiction.bake.cache)
    content = cache.read_bytes()
    for damage in (content[:50], b"", None):
        cache.unlink()
        if damage is not None:
            cache.write_bytes(damage)
            before = dump()
            with pytest.raises(RuntimeError, match="cached frames"):
                bpy.ops.stiction.bake_to_keyframes()
            assert differences(before, dump()) == []
        bpy.context.scene.frame_set(4)
        if damage is None:
            cache.write_bytes(content)
    assert bpy.ops.stiction.bake_to_keyframes() == {"FINISHED"}


def test_operators_say_why_they_cannot_run(scene):
    assert not bpy.ops.stiction.free_bake.poll() and not bpy.ops.stiction.bake_to_keyframes.poll()
    assert not bpy.ops.stiction.cancel.poll()
    bpy.ops.rigidbody.world_remove()
    assert not bpy.ops.stiction.bake.poll()
