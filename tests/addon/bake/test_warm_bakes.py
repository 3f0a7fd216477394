# SPDX-License-Identifier: GPL-3.0-or-later
"""The second bake of a Blender is done by the process of the first, where nothing speaks against that."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import bpy
import pytest

from ..objects import box_mesh

SECONDS_TO_END = 60.0

# A worker that says what is said to it. "long" bakes until it is stopped, "bad" ends the process.
PROGRAM = """
import json, os, sys
def tell(event, **values):
    print(json.dumps({"event": event, **values}), flush=True)
for line in sys.stdin:
    words = json.loads(line) if line[0] == "[" else line.strip()
    tell("heard", words=words, environment=os.environ.get("STICTION_TEST"))
    if words == "stop":
        tell("ended", status=1)
    elif isinstance(words, list) and words[0].endswith("bad"):
        sys.exit("bad luck")
    elif isinstance(words, list) and not words[0].endswith("long"):
        tell("ended", status=0)
"""


@pytest.fixture
def idle(extension):
    from stiction.addon.bake.process import Idle

    kept = Idle()
    yield kept
    kept.end()


@pytest.fixture
def started(monkeypatch):
    """The processes that were started in the test."""
    found, plain = [], subprocess.Popen

    def note(*arguments, **options):
        found.append(plain(*arguments, **options))
        return found[-1]

    monkeypatch.setattr(subprocess, "Popen", note)
    return found


@pytest.fixture
def start(extension, idle, monkeypatch, tmp_path):
    """Starts a bake with a worker whose program is PROGRAM."""
    from stiction.addon.bake import worker

    package = tmp_path / "solver_core"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "warm_worker.py").write_text(PROGRAM)
    monkeypatch.setattr(worker, "ROOT", tmp_path)

    def begin(snapshot="short", **how):
        return worker.Worker(tmp_path / snapshot, tmp_path / "cache", idle=idle, **how)

    return begin


def told(work):
    """What was said to the worker, as it says, and the end of the bake."""
    *said, end = work.all_events()
    return [event.record["words"] for event in said], end


def test_the_second_bake_has_the_process_of_the_first_and_its_own_arguments(start, started, tmp_path):
    words, end = told(start(threads=2))
    assert words == [[str(tmp_path / "short"), str(tmp_path / "cache"), "--threads", "2"]] and end.status == 0
    words, end = told(start(resume=True, contacts=True, report=tmp_path / "report"))
    assert words[0][2:] == ["--resume", "--contacts", "--report", str(tmp_path / "report")] and end.status == 0
    assert len(started) == 1


def test_one_that_is_stopped_leaves_its_process_which_is_neither_killed_later_nor_stopped_once_more(
    start, started, extension, monkeypatch
):
    from stiction.addon.bake import process

    monkeypatch.setattr(process, "SECONDS_TO_END", 0.3)
    first = start("long")
    first.stop()
    words, end = told(first)
    assert words[1:] == ["stop"] and end.status == 1
    second = start("long")
    time.sleep(0.6)
    first.stop()
    first.pause(True)
    second.pause(True)
    second.stop()
    assert told(second)[0][1:] == ["pause", "stop"] and len(started) == 1


def test_an_idle_process_that_was_killed_costs_nothing(start, started):
    told(start())
    started[0].kill()
    started[0].wait()
    _, end = told(start())
    assert end.status == 0 and len(started) == 2


def test_a_bake_whose_process_ends_says_why_and_the_next_has_a_new_one(start, started):
    told(start())
    _, end = told(start("bad"))
    assert len(started) == 1 and (end.status, end.trouble) == (1, "bad luck")
    _, end = told(start())
    assert len(started) == 2 and end.status == 0


def environment(monkeypatch, _tmp_path):
    monkeypatch.setenv("STICTION_TEST", "another")


def kernels(monkeypatch, tmp_path):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "kernels"))


def rights(monkeypatch, _tmp_path):
    from stiction.addon.bake import worker

    class Doubt:
        __wrapped__ = staticmethod(lambda _folder: "everybody may write to it")

    monkeypatch.setattr(worker, "doubt", Doubt)


def update(_monkeypatch, tmp_path):
    (tmp_path / "solver_core" / "deeper").mkdir()
    (tmp_path / "solver_core" / "deeper" / "kernels.py").touch()


def edit(_monkeypatch, tmp_path):
    file = tmp_path / "solver_core" / "__init__.py"
    os.utime(file, ns=(0, file.stat().st_mtime_ns + 1))


def library(monkeypatch, tmp_path):
    from stiction.addon.bake import worker

    (tmp_path / "new.py").touch()
    stamps = worker.stamps
    monkeypatch.setattr(worker, "stamps", lambda files: stamps([*files, tmp_path / "new.py"]))


def time_passed(monkeypatch, _tmp_path):
    from stiction.addon.bake import process

    monkeypatch.setattr(process, "SECONDS_TO_STAY", process.SECONDS_BEFORE_ITS_END)


@pytest.mark.parametrize("change", [environment, kernels, rights, update, edit, library, time_passed])
def test_what_has_changed_since_gets_a_new_process_and_the_old_one_ends(start, started, monkeypatch, tmp_path, change):
    told(start())
    change(monkeypatch, tmp_path)
    told(start())
    assert len(started) == 2
    started[0].wait(timeout=SECONDS_TO_END)


def test_the_environment_of_a_new_process_is_that_of_now(start, monkeypatch):
    told(start())
    monkeypatch.setenv("STICTION_TEST", "another")
    said, _ = start().all_events()
    assert said.record["environment"] == "another"


def test_a_bake_that_nobody_listens_to_any_more_disturbs_no_other(start, started):
    """As when another file is opened meanwhile."""
    first = start("long")
    first.stop()
    for _ in range(3):
        words, end = told(start())
        assert len(words) == 1 and end.status == 0
    assert len(started) <= 2 and told(first)[1].status == 1


def test_two_bakes_at_once_have_two_processes(start, started):
    both = start("long"), start("long")
    for work in both:
        work.stop()
        told(work)
    assert len(started) == 2


def test_processes_end_with_the_extension_also_one_that_bakes_at_that_time(start, started, idle):
    busy = start("long")
    told(start())
    idle.end()
    assert started[0].poll() is None and started[1].poll() is not None
    busy.stop()
    assert told(busy)[1].status == 1
    started[0].wait(timeout=SECONDS_TO_END)


@pytest.fixture
def resting_box(scene, make_body, idle, monkeypatch):
    """A cube that lies on the ground, in a Blender that has no worker yet."""
    from stiction.addon.panels.operators import STICTION_OT_bake

    monkeypatch.setattr(STICTION_OT_bake, "idle", idle)
    ground = make_body("Ground", kind="PASSIVE", shape="BOX", mesh=box_mesh("Ground", (5.0, 5.0, 0.5)))
    ground.location.z = -0.5
    box = make_body("Box", shape="BOX", mesh=box_mesh("Box", (0.1, 0.1, 0.1)))
    box.location.z = 0.1
    return box


@pytest.fixture(scope="module")
def baked_before():
    """The last frames of bakes that compiled what others call."""
    return []


@pytest.fixture
def compiled(resting_box, started, baked_before):
    """What the bakes of it call has been compiled before: that takes so much memory that a process ends after it."""
    if not baked_before:
        baked_before.append(at_once_begun().run().last_frame)
        bpy.ops.stiction.free_bake()
        started.clear()


def test_bakes_of_an_artist_have_one_process_until_it_is_killed(resting_box, compiled, started):
    for height in (0.1, 0.11, 0.12, 0.13):
        resting_box.location.z = height
        if height == 0.13:
            assert len(started) == 1 and started[0].poll() is None
            started[0].kill()
            started[0].wait(timeout=SECONDS_TO_END)  # a signal is on its way for a while
        assert bpy.ops.stiction.bake() == {"FINISHED"}
        assert bpy.ops.stiction.free_bake() == {"FINISHED"}
    assert len(started) == 2


def test_a_bake_on_the_command_line_leaves_no_process(resting_box, started):
    bake = at_once_begun()
    assert bake.run().last_frame == 5
    assert [process.wait(timeout=SECONDS_TO_END) for process in started] == [0]


def at_once_begun(**how):
    from stiction.addon.bake.runner import begin
    from stiction.addon.blender.cooperative import at_once

    return at_once(begin(bpy.context, lambda level, text: None, **how))


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="ends of processes have no names there")
def test_a_process_that_is_killed_in_its_second_bake_is_told_and_the_frames_are_kept(resting_box, compiled, started, idle):
    from stiction.addon.bake.job import Phase
    from stiction.addon.bake.runner import Bake

    bpy.context.scene.rigidbody_world.point_cache.frame_end = 100_000

    def baked(end):
        """A bake that something ends once it has three frames."""
        bake = at_once_begun(idle=idle)
        return bake, bake.run(lambda job: end(bake) if job.last_frame is not None and job.last_frame >= 3 else None)

    assert baked(Bake.cancel)[1].phase is Phase.STOPPED
    bake, failed = baked(lambda _bake: started[0].kill())
    assert len(started) == 1 and failed.phase is Phase.FAILED
    assert "SIGKILL" in failed.error and f"frames up to {bake.kept} are in the cache" in failed.error
    assert baked(Bake.cancel)[1].phase is Phase.STOPPED and len(started) == 2
