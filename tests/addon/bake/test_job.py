# SPDX-License-Identifier: GPL-3.0-or-later
"""The bake's state machine, without Blender and without a process."""

from __future__ import annotations

import dataclasses

import pytest


@pytest.fixture
def job(extension):
    from stiction.addon.bake import job

    return job


# characters of a label with an icon in a properties editor of 277 pixels
MOST_IN_ROW = 29
STARTED = {"event": "started", "frame_start": 1, "frame_end": 4, "resumed_from": None, "bodies": 2}


def frame(number: int, *, missed: int = 0, overlap: float | None = 0.0) -> dict:
    return {
        "event": "frame",
        "frame": number,
        "contacts": 3,
        "iterations": 1,
        "worst_error": 0.0,
        "missed": missed,
        "moving": 0,
        "deepest_overlap": overlap,
        "overlap_ratio": None if overlap is None else 10.0 * overlap,
        "deepest_pair": [] if overlap == 0.0 else ["Box", "Floor"],
        "found": {"start": 3, "newton": 1},
        "seconds": 0.5,
    }


def play(job, *events):
    """Final state and all effects."""
    state, effects = job.Job(), []
    for event in events:
        event = job.WorkerMessage(event) if isinstance(event, dict) else event
        state, new = job.advance(state, event)
        effects += new
    return state, effects


def test_a_bake_from_begin_to_end(job):
    finished = {"event": "finished", "frames": 4, "missed_steps": 0, "seconds": 9.0}
    state, effects = play(
        job, {"event": "compiling"}, STARTED, frame(1), frame(2), frame(3), frame(4), finished, job.WorkerEnded(0)
    )
    assert state.phase is job.Phase.BAKED and state.factor == 1.0 and state.is_over
    assert effects[0] == job.StartPlayback()
    assert effects[1:5] == [job.ShowFrames(number) for number in (1, 2, 3, 4)]
    assert effects[5].level == "INFO" and "frames 1 to 4" in effects[5].text


def test_compiling_is_told_while_it_lasts_and_only_then(job):
    assert play(job, {"event": "compiling"}, STARTED)[0].status == "Loading"
    count = {"event": "compiled", "kernels": 12, "there": 136, "whole": 544, "left": 75.0}
    compiling = {"event": "compiling"}, count, STARTED, frame(1)
    assert "136 kernels of at most 544, at most 1:15 min left; later bakes reuse them" in play(job, *compiling)[0].status
    first = count | {"left": None}
    assert "136 kernels of at most 544; later bakes reuse them" in play(job, {"event": "compiling"}, first)[0].status
    assert play(job, *compiling)[0].factor == 0.25 and play(job, *compiling, frame(2))[0].factor == 0.5
    assert play(job, *compiling, frame(2))[0].status == "Frame 2 of 4, 3 contacts"
    assert play(job, STARTED, frame(1), job.CancelRequested(), count)[0].status == "Stopping"


def test_a_bake_that_compiles_in_its_middle_says_one_time_that_is_left(job):
    """The status bar had the time of the kernels and that of the frames in one line, and the panel no count."""
    count = {"event": "compiled", "kernels": 12, "there": 136, "whole": 544, "left": 75.0}
    compiling = play(job, STARTED, frame(1), frame(2), count)[0]
    assert "1:15 min left" in compiling.status and compiling.details == ()
    again = play(job, STARTED, frame(1), frame(2), count, frame(3))[0]
    assert again.status.startswith("Frame 3") and len(again.details) > 1


def test_why_kernels_that_were_brought_cannot_be_used_is_told(job):
    _, effects = play(job, {"event": "compiling", "unfit": "the kernels are for numpy 9.9, here is 2.3"})
    assert [effect.level for effect in effects] == ["INFO"] and "numpy 9.9" in effects[0].text


def test_nothing_in_the_file_is_touched_before_the_worker_has_accepted_the_scene(job):
    problem = {"object": "Cube", "field": "mass", "message": "the mass is 0"}
    error = {"event": "error", "message": "the scene cannot be simulated", "problems": [problem]}
    state, effects = play(job, {"event": "compiling"}, error, job.WorkerEnded(2))
    assert state.phase is job.Phase.REFUSED
    assert [type(effect) for effect in effects] == [job.Report]
    assert "Cube: mass: the mass is 0" in effects[0].text and effects[0].level == "ERROR"


def test_what_the_worker_refuses_is_named_as_the_panels_name_it(job):
    problem = {"object": "Cube", "field": "material.mu_static", "message": "is -1"}
    error = {"event": "error", "message": "the scene cannot be simulated", "problems": [problem]}
    for message in ("cannot be simulated", "cannot be simulated:\nCube: material.mu_static: is -1"):
        _, effects = play(job, error | {"message": message}, job.WorkerEnded(2))
        assert effects[0].text.count("Cube: ") == 1 and "Cube: material static friction: is -1" in effects[0].text


def test_a_problem_that_the_message_tells_already_is_not_told_twice(job):
    problem = {"object": "Cube", "field": "mass", "message": "the mass is 0"}
    error = {"event": "error", "message": "cannot be simulated:\nCube: mass: the mass is 0", "problems": [problem]}
    _, effects = play(job, error, job.WorkerEnded(2))
    assert effects[0].text.count("Cube: mass") == 1


def test_a_missed_tolerance_keeps_the_bake(job):
    finished = {"event": "finished", "frames": 4, "missed_steps": 3, "seconds": 9.0}
    state, effects = play(job, STARTED, frame(1), frame(2, missed=3), frame(3), frame(4), finished, job.WorkerEnded(3))
    assert state.phase is job.Phase.MISSED and state.missed_steps == 3
    assert effects[-1].level == "WARNING" and "3 steps did not converge" in effects[-1].text


def test_missed_steps_of_an_earlier_run_count_when_a_bake_was_resumed(job):
    resumed = {**STARTED, "resumed_from": 3}
    finished = {"event": "finished", "frames": 4, "missed_steps": 2, "seconds": 9.0}
    state, _ = play(job, resumed, frame(4), finished, job.WorkerEnded(3))
    assert state.missed_steps == 2 and state.factor == 1.0


def test_what_frames_of_an_earlier_run_had_counts_when_a_bake_was_resumed(job):
    def had(event, number, **figures):
        return {**frame(number), "event": event, "last": 2, **figures}

    earlier = had("kept", 1, missed=1, moving=40, deepest_overlap=0.003, deepest_pair=["Box", "Floor"], overlap_ratio=0.03)
    state, effects = play(job, {**STARTED, "resumed_from": 2}, earlier, had("repeated", 2), frame(3))
    assert (state.missed_steps, state.moving) == (1, 40)
    assert str(state.overlap) == "3 mm, Box and Floor, frame 1"
    assert dict(state.found) == {"start": 9, "newton": 3}
    # they are shown already, and this run did not take their time
    assert effects == [job.StartPlayback(), job.ShowFrames(3)] and state.seconds == 0.5


def test_cancelling_stops_the_worker_once_and_keeps_the_frames(job):
    state, effects = play(job, STARTED, frame(1), job.CancelRequested(), job.CancelRequested(), frame(2), job.WorkerEnded(1))
    assert state.phase is job.Phase.STOPPED and state.last_frame == 2
    assert effects.count(job.StopWorker()) == 1
    assert "frames 1 to 2 of 4" in effects[-1].text


def test_a_bake_that_was_done_before_the_signal_came_is_done(job):
    state, _ = play(job, STARTED, frame(4), job.CancelRequested(), job.WorkerEnded(0))
    assert state.phase is job.Phase.BAKED


def test_a_worker_that_dies_is_an_error_with_its_last_words(job):
    state, effects = play(job, STARTED, frame(1), job.WorkerEnded(-9, "Killed", kept=1))
    assert state.phase is job.Phase.FAILED and state.last_frame == 1
    words = "SIGKILL", "memory", "Killed", "frames up to 1 are in the cache", "--resume"
    assert all(word in effects[-1].text for word in words)


def test_a_worker_that_was_stopped_by_somebody_else_says_by_whom_and_how_to_go_on(job):
    stopped = {"event": "stopped", "frame": 2, "reason": "SIGINT"}
    state, effects = play(job, STARTED, frame(1), frame(2), stopped, job.WorkerEnded(1, kept=2))
    assert state.phase is job.Phase.FAILED
    assert all(word in effects[-1].text for word in ("SIGINT", "frames up to 2", "Resume", "--resume"))
    assert "status 1" not in effects[-1].text


def test_a_bake_that_its_user_stopped_is_no_error(job):
    stopped = {"event": "stopped", "frame": None, "reason": "the process that started it wants it to end"}
    _, effects = play(job, {"event": "compiling"}, job.CancelRequested(), stopped, job.WorkerEnded(1))
    assert effects[-1] == job.Report("INFO", "Stopped: Stopped")


def test_a_cache_that_another_process_writes_is_an_error_that_changes_nothing(job):
    error = {"event": "error", "message": "x.cache: another bake is writing to this cache", "problems": []}
    state, effects = play(job, error, job.WorkerEnded(1))
    assert state.phase is job.Phase.FAILED and effects == [job.Report("ERROR", error["message"])]


def test_a_cache_that_is_lost_has_its_own_end_and_no_frames_are_promised(job):
    error = {"event": "error", "message": "x.cache: the cache was removed", "problems": []}
    for events in ((), (job.CancelRequested(),)):
        state, effects = play(job, STARTED, frame(1), frame(2), *events, error, job.WorkerEnded(4))
        assert state.phase is job.Phase.LOST and state.is_over
        assert effects[-1] == job.Report("ERROR", "x.cache: the cache was removed")


def test_only_frames_that_can_be_read_are_promised(job):
    _, effects = play(job, STARTED, frame(1), frame(2), job.WorkerEnded(-9, kept=1))
    assert "frames up to 1 are in the cache" in effects[-1].text
    _, effects = play(job, STARTED, frame(1), frame(2), job.WorkerEnded(-9))
    assert "in the cache" not in effects[-1].text


def test_an_exit_status_that_is_no_signal_is_told_as_it_is(job):
    assert "status 3221225477" in play(job, job.WorkerEnded(3221225477))[0].error


def test_an_overlap_that_is_no_number_is_not_taken_for_none(job):
    state, _ = play(job, STARTED, frame(1, overlap=0.25), frame(2, overlap=None))
    assert state.overlap.depth == float("inf")


def test_the_deepest_overlap_of_a_bake_is_told_with_its_bodies_and_frame(job):
    state, _ = play(job, STARTED, frame(1), frame(2, overlap=0.002), frame(3, overlap=0.001), frame(4))
    assert (state.overlap.depth, state.overlap.bodies, state.overlap.frame) == (0.002, ("Box", "Floor"), 2)
    assert "deepest overlap 2 mm, Box and Floor, frame 2" in state.summary
    assert play(job, STARTED, frame(1))[0].overlap is None


def test_a_warning_about_many_objects_names_the_first_of_them(job):
    wall = {"event": "warning", "objects": [f"Bed {i}" for i in range(54)], "field": "joints", "message": "broke at frame 11"}
    state, _ = play(job, STARTED, wall)
    assert state.warnings == ("Bed 0, Bed 1, Bed 2, Bed 3 and 50 more: joints: broke at frame 11",)


def test_warnings_name_their_objects(job):
    warning = {"event": "warning", "objects": ["A", "B"], "field": "location", "message": "they overlap by 2 mm"}
    state, effects = play(job, STARTED, warning)
    assert state.warnings == ("A, B: location: they overlap by 2 mm",)
    assert effects[-1] == job.Report("WARNING", "A, B: location: they overlap by 2 mm")


def test_what_comes_after_the_end_changes_nothing(job):
    over, _ = play(job, STARTED, job.WorkerEnded(1))
    assert job.advance(over, job.CancelRequested()) == (over, ())
    assert job.advance(over, job.WorkerMessage(frame(1))) == (over, ())


def test_what_solved_the_islands_is_told_the_most_frequent_first(job):
    state, _ = play(job, STARTED, frame(1), frame(2))
    assert state.solved_by == "75 % at once, 25 % by Newton's method"
    assert play(job, STARTED)[0].solved_by == ""


@pytest.mark.parametrize(
    ("found", "told"),
    [
        ((("newton", 40),), "100 % by Newton's method"),
        ((("start", 1), ("newton", 399)), "100 % by Newton's method, 0.2 % at once"),
        ((("start", 0), ("newton", 3), ("staggering", 1)), "75 % by Newton's method, 25 % by staggering"),
    ],
)
def test_shares_are_told_in_plain_percents(job, found, told):
    state, _ = play(job, STARTED, frame(1))
    assert dataclasses.replace(state, found=found).solved_by == told


def test_a_pause_is_asked_for_once_and_ended_once(job):
    pause, go_on = job.PauseRequested(True), job.PauseRequested(False)
    state, effects = play(job, STARTED, frame(1), pause, pause, frame(2), {"event": "paused"})
    assert effects.count(job.PauseWorker()) == 1 and state.status == "Paused after frame 2"
    state, more = job.advance(state, go_on)
    assert more == (job.LetWorkerGoOn(),) and not state.pausing
    assert job.advance(state, go_on)[1] == ()
    # what the worker said before it heard of the end of the pause
    assert job.advance(state, job.WorkerMessage({"event": "paused"}))[0].status == "Continuing"
    assert job.advance(state, job.WorkerMessage(frame(3)))[0].status == "Frame 3 of 4, 3 contacts"


def test_a_bake_that_waits_can_be_stopped(job):
    state, effects = play(job, STARTED, frame(1), job.PauseRequested(True), job.CancelRequested(), job.PauseRequested(False))
    assert state.status == "Stopping" and effects[-1] == job.StopWorker()


def test_time_left_and_rate_are_those_of_the_last_frames_without_the_one_that_loads_the_kernels(job):
    def timed(number, seconds):
        return {**frame(number), "seconds": seconds, "size": 1000 * number}

    started = {**STARTED, "frame_end": 101}
    assert play(job, started)[0].details == play(job, started, timed(1, 0.0))[0].details == ()
    cold = play(job, started, timed(1, 0.0), timed(2, 90.0))[0]
    assert cold.details[0] == "2:28 h left, 90 s/frame"
    warm = play(job, started, timed(1, 0.0), timed(2, 90.0), timed(3, 0.5))[0]
    assert warm.details[0] == "49 s left, 2 frames/s"
    slower = play(job, started, timed(1, 0.0), *(timed(n, 0.5) for n in range(2, 41)), *(timed(n, 2.0) for n in range(41, 61)))[
        0
    ]
    assert slower.details[0] == "1:22 min left, 2 s/frame"
    fast, very_slow = (play(job, started, timed(1, 0.0), timed(2, 9.0), timed(3, pace))[0] for pace in (1.0 / 152.0, 147.0))
    assert (fast.details[0], very_slow.details[0]) == ("1 s left, 150 frames/s", "4:00 h left, 150 s/frame")
    assert slower.details[1] == "3 contacts, 1 iteration"
    assert slower.details[-1] == "60 kB of 101 kB on disk"


def test_figures_of_a_running_bake_are_whole_at_the_usual_width(job):
    """Two of the four rows were cut in Blender 5.2 at its default width."""
    from stiction.addon.bake.progress import Progress

    large = Progress(contacts=1234, iterations=156, seconds=(147.0,), size=654_000_000)
    rows = large.lines(1, 100, 240)
    assert len(rows) == 3 and max(map(len, rows)) <= MOST_IN_ROW


def test_the_deepest_overlap_of_the_last_frame_is_told_with_its_bodies(job):
    state, _ = play(job, STARTED, frame(1), frame(2), frame(3, overlap=2e-5))
    assert "Overlap 0.02 mm, Box and Floor" in state.details
    assert "Overlap not finite, Box and Floor" in play(job, STARTED, frame(1), frame(2, overlap=None))[0].details
    assert play(job, STARTED, frame(4), job.WorkerEnded(0))[0].details == ()


def test_whatever_finds_an_answer_has_a_name_in_the_panel(job):
    from stiction.solver_core.problem.result import Found

    counted = {which.name.lower(): 1 for which in Found}
    state, _ = play(job, STARTED, {**frame(1), "found": counted})
    assert len(state.solved_by.split(", ")) == len(Found)
