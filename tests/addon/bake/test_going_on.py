# SPDX-License-Identifier: GPL-3.0-or-later
"""The rest of a bake from a frame on, with the scene as it is by then; what comes before stays, and is told."""

from __future__ import annotations

from pathlib import Path

import bpy
import numpy as np
import pytest

from ..objects import world_matrix


@pytest.fixture
def body(make_body, fake_worker):
    """A body that rises by its coefficient of friction in each frame, from where it was."""
    plain = fake_worker.frame

    def frame(self, number):
        from stiction.solver_core.io.cache import FrameCacheReader

        made = plain(self, number)
        made.poses[0, :3], made.poses[0, 3:] = self.spec.bodies[0].position, self.spec.bodies[0].orientation
        if number > self.spec.frame_start:
            made.poses[0, 2] = (
                FrameCacheReader(self.cache).read(number - 1).poses[0, 2] + self.spec.bodies[0].material.mu_static
            )
        return made

    fake_worker.frame = frame
    ob = make_body("Box")
    ob.rigid_body.friction = 0.25
    return ob


def heights(ob) -> list[float]:
    found = []
    for frame in range(1, 6):
        bpy.context.scene.frame_set(frame)
        found.append(float(world_matrix(ob)[2, 3]))
    return found


def bake_rest(frame: int):
    bpy.context.scene.frame_set(frame)
    return bpy.ops.stiction.bake(from_here=True)


def test_the_rest_is_baked_anew_and_the_frames_before_stay(body):
    scene = bpy.context.scene
    bpy.ops.stiction.bake()
    before = scene.stiction.bake.cache
    body.rigid_body.friction = 0.5
    assert bake_rest(3) == {"FINISHED"}
    assert heights(body) == pytest.approx([0.0, 0.25, 0.5, 1.0, 1.5])
    assert scene.stiction.bake.earlier == "Frames 1 to 3 are from another bake: friction 0.25 of Box"
    # neither the bake before nor one of the new friction alone is touched
    assert scene.stiction.bake.cache != before and Path(before).exists()
    assert bpy.ops.stiction.bake() == {"FINISHED"}
    assert heights(body) == pytest.approx([0.0, 0.5, 1.0, 1.5, 2.0])
    assert scene.stiction.bake.earlier == ""


def test_it_is_not_outdated_until_something_changes_again(body):
    from stiction.addon.bake.outdated import changes

    bpy.ops.stiction.bake()
    body.rigid_body.friction = 0.5
    bake_rest(3)
    assert changes(bpy.context.scene) == []
    body.rigid_body.friction = 0.75
    assert changes(bpy.context.scene) == ["friction of Box"]


def test_a_third_bake_goes_on_after_the_second(body):
    bpy.ops.stiction.bake()
    for frame, friction in ((2, 0.5), (4, 1.0)):
        body.rigid_body.friction = friction
        bake_rest(frame)
    assert heights(body) == pytest.approx([0.0, 0.25, 0.75, 1.25, 2.25])
    assert bpy.context.scene.stiction.bake.earlier.splitlines() == [
        "Frames 1 to 2 are from another bake: friction 0.25 of Box",
        "Frames 3 to 4 are from another bake: friction 0.5 of Box",
    ]


def test_stopped_it_is_resumed_with_the_frames_that_it_kept(body, fake_worker):
    bpy.ops.stiction.bake()
    body.rigid_body.friction = 0.5
    fake_worker.last_frame, fake_worker.status = 4, 1
    with pytest.raises(RuntimeError, match="Resume"):
        bake_rest(3)
    fake_worker.last_frame, fake_worker.status = None, 0
    assert bpy.ops.stiction.bake(resume=True) == {"FINISHED"}
    assert heights(body) == pytest.approx([0.0, 0.25, 0.5, 1.0, 1.5])
    assert "Frames 1 to 3" in bpy.context.scene.stiction.bake.earlier


def test_made_longer_it_is_resumed_as_well(body):
    bpy.ops.stiction.bake()
    body.rigid_body.friction = 0.5
    bake_rest(3)
    bpy.context.scene.rigidbody_world.point_cache.frame_end = 6
    assert bpy.ops.stiction.bake(resume=True) == {"FINISHED"}
    bpy.context.scene.frame_set(6)
    assert world_matrix(body)[2, 3] == pytest.approx(2.0)
    assert "Frames 1 to 3" in bpy.context.scene.stiction.bake.earlier


def test_a_bake_of_the_scene_alone_never_begins_with_frames_of_another(body):
    bpy.ops.stiction.bake()
    body.rigid_body.friction = 0.5
    bake_rest(3)
    bpy.ops.stiction.free_bake()
    bpy.context.scene.rigidbody_world.point_cache.frame_end = 4
    assert bpy.ops.stiction.bake(resume=True) == {"FINISHED"}
    assert heights(body)[:4] == pytest.approx([0.0, 0.5, 1.0, 1.5])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda ob: None, "nothing has changed"),
        (lambda ob: setattr(ob.stiction.backup, "location", (1, 0, 0)), "Box begins at another place"),
        (lambda ob: setattr(ob.rigid_body, "type", "PASSIVE"), "Box was active and is passive now"),
        (lambda ob: bpy.data.objects.new("More", None), "nothing has changed"),
        (lambda ob: setattr(bpy.context.scene.rigidbody_world.point_cache, "frame_start", 2), "first frame was 1"),
    ],
)
def test_what_cannot_go_on_is_refused_and_changes_nothing(body, make_body, change, words):
    make_body("Other")
    bpy.ops.stiction.bake()
    bake = bpy.context.scene.stiction.bake
    then = bake.cache, bake.digest, bake.earlier
    change(body)
    with pytest.raises(RuntimeError, match=words):
        bake_rest(3)
    assert (bake.cache, bake.digest, bake.earlier) == then


def test_a_body_that_was_added_is_named(body, make_body):
    bpy.ops.stiction.bake()
    make_body("Late")
    with pytest.raises(RuntimeError, match="the body Late was added"):
        bake_rest(3)


def test_without_a_bake_or_its_files_it_says_so(body):
    with pytest.raises(RuntimeError, match="no bake whose frames could be kept"):
        bake_rest(3)
    bpy.ops.stiction.bake()
    body.rigid_body.friction = 0.5
    Path(bpy.context.scene.stiction.bake.cache).with_suffix(".snapshot").unlink()
    with pytest.raises(RuntimeError, match=r"\.snapshot"):
        bake_rest(3)


def test_on_the_command_line_keyframes_begin_with_the_frames_that_are_kept(body, tmp_path, capsys):
    from stiction.addon.command import cli

    file, output = tmp_path / "shot.blend", tmp_path / "out.blend"
    bpy.ops.wm.save_as_mainfile(filepath=str(file))
    assert int(cli.run(["bake", str(file), "-o", str(output)])) == 0
    assert int(cli.run(["bake", str(output), "-o", str(output), "--keep-to", "3", "--set", "Box:friction=0.5"])) == 0
    assert "Frames 1 to 3 are from another bake: friction 0.25 of Box" in capsys.readouterr().out
    bpy.ops.wm.open_mainfile(filepath=str(output))
    assert heights(bpy.data.objects["Box"]) == pytest.approx([0.0, 0.25, 0.5, 1.0, 1.5])
    assert int(cli.run(["bake", str(output), "-o", str(output), "--keep-to", "9", "--set", "Box:friction=0.1"])) == 2
    assert "frame 9 is not in the cache" in capsys.readouterr().err
    assert int(cli.run(["bake", str(output), "-o", str(output), "--keep-to", "3", "--resume"])) == 2


def test_keeping_the_last_frame_leaves_nothing_to_bake(body):
    bpy.ops.stiction.bake()
    body.rigid_body.friction = 0.5
    with pytest.raises(RuntimeError, match="the last of the bake"):
        bake_rest(5)
    assert np.isclose(heights(body)[-1], 1.0)
