# SPDX-License-Identifier: GPL-3.0-or-later
"""What nobody means is a clear error or a right result; `tests/bench/fuzz.py` tries ten thousand of these."""

from __future__ import annotations

import os
import sys
import tracemalloc
from dataclasses import replace

import numpy as np
import pytest

from solver_core import worker
from solver_core.dynamics.model.checkpoints import checkpoint_problem
from solver_core.dynamics.simulation import Simulation
from solver_core.io.cache import CacheError, FrameCacheReader
from solver_core.io.cache_writer import FrameCacheWriter
from solver_core.io.container import ContainerError, encode_chunk
from solver_core.io.records import WIDTHS
from solver_core.io.snapshot import file_digest, read_snapshot, snapshot_digest, write_snapshot
from solver_core.problem.result import Status
from solver_core.scene.spec import ContactMethod

from ..caches import give_settings_of_an_earlier_version, rewrite
from ..fuzzing import KINDS, Folder, try_case, worked
from ..spoiling import checked_chunk, chunks_of


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    room = tmp_path_factory.mktemp("fuzz") / "room"
    room.mkdir()
    return Folder.made(room)


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_a_few_of_what_nobody_means(kind, folder):
    # far from those of the benchmark's first run
    for number in range(100_000, 100_012):
        try_case(kind, number, folder)


def with_chunk(folder, kind, change, name="case.cache"):
    """The sound cache with one of its chunks changed, all checksums right."""
    parts, done = [], False
    for found, fields, arrays in chunks_of(folder.path / "sound.cache"):
        fields, arrays = dict(fields), dict(arrays)
        if found == kind and not done:
            change(fields, arrays)
            done = True
        parts.append(encode_chunk(found, fields, arrays))
    (folder.path / name).write_bytes(b"".join(parts))
    return folder.path / name


@pytest.mark.parametrize("count", [10**9, 10**18])
def test_a_header_that_claims_billions_of_bodies_is_refused_before_there_is_memory_for_them(folder, count):
    path = folder.path / "case.snapshot"
    scene = {"array": "scene.bodies.0.position"}
    arrays = {"scene.bodies.0.position": {"dtype": "<f8", "shape": [count, 7], "offset": 0}}
    path.write_bytes(checked_chunk("snap", {"fields": {"scene": scene, "settings": {}}, "arrays": arrays}, bytes(64)))
    tracemalloc.start()
    try:
        with pytest.raises(ContainerError, match="goes beyond 64 bytes"):
            read_snapshot(path)
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("memory_body_a", 10**6, "bodies that the scene of"),
        ("memory_body_b", -1, "bodies that the scene of"),
        ("sleep_island", 2**40, "bodies that the scene of"),
        ("position", np.nan, "not finite"),
        ("memory_impulse", np.inf, "not finite"),
    ],
)
def test_a_checkpoint_whose_numbers_a_kernel_would_believe_is_refused(folder, name, value, words):
    def change(fields, arrays):
        arrays[name].reshape(-1)[0] = value

    cache = with_chunk(folder, "chkp", change)
    status, said, errors = worked(folder.path / "sound.snapshot", cache, "--resume")
    assert status == 2 and words in said and errors == ""


def test_a_bake_of_an_earlier_version_is_gone_on_with_to_the_same_bits(folder):
    snapshot, cache = folder.path / "earlier.snapshot", folder.path / "earlier.cache"
    snapshot.write_bytes(folder.snapshot)
    cache.write_bytes(folder.cache)
    give_settings_of_an_earlier_version(snapshot, step_accuracy=1e-3)

    def change(kind, fields, arrays):
        if kind == "head":
            fields["digest"] = file_digest(snapshot)
        if kind == "chkp":
            arrays["crowd_members"] = arrays.pop("moving_members")
            arrays |= {
                "pace_span": np.array([3]),
                "pace_jerk": np.zeros(1),
                "pace_force": np.zeros((len(folder.spec.bodies), 6)),
            }

    rewrite(cache, change)
    status, said, errors = worked(snapshot, cache, "--resume")
    assert status == 0 and errors == "" and '"resumed_from": 4' in said and "came out otherwise" not in said
    whole = Simulation(folder.spec, folder.settings).run()
    assert [frame.poses.tobytes() for frame in FrameCacheReader(cache)] == [frame.poses.tobytes() for frame in whole]


def test_a_checkpoint_of_another_shape_is_refused(folder):
    def change(fields, arrays):
        arrays["velocity"] = arrays["velocity"][:2]

    status, said, _ = worked(folder.path / "sound.snapshot", with_chunk(folder, "chkp", change), "--resume")
    assert status == 2 and "'velocity' is of float64 and shape (2, 3)" in said


def test_a_checkpoint_as_it_is_taken_has_nothing_wrong(folder):
    (checkpoint,) = (arrays for kind, _, arrays in chunks_of(folder.path / "sound.cache") if kind == "chkp")
    assert len(checkpoint["memory_body_a"]) > 0
    assert checkpoint_problem(checkpoint, checkpoint) == ""


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("bodies", []),
        ("fps", 0.0),
        ("fps", "x"),
        ("substeps", -1),
        ("frame_end", -5),
        ("frame_start", 2**70),
        ("joints", ["a"]),
    ],
)
def test_a_head_that_makes_no_sense_is_no_head_of_this_scene(folder, field, value):
    cache = with_chunk(folder, "head", lambda fields, arrays: fields.update({field: value}))
    with pytest.raises(CacheError):
        FrameCacheReader.of_snapshot(cache, folder.spec, snapshot_digest(folder.spec, folder.settings))
    assert worked(folder.path / "sound.snapshot", cache, "--resume")[0] == 2


@pytest.mark.parametrize("name", ["worst_pair", "deepest_pair", "spinning_body", "violating_pairs"])
def test_a_frame_that_names_bodies_which_are_not_there_is_no_frame(folder, name):
    def change(fields, arrays):
        if fields["frame"] == folder.spec.frame_start + 1:
            shape = len(arrays["statistics.status"]), *WIDTHS.get(name, ())
            arrays[f"statistics.{name}"] = np.full(shape, len(folder.spec.bodies))

    cache = folder.path / "case.cache"
    cache.write_bytes(folder.cache)
    rewrite(cache, lambda kind, fields, arrays: change(fields, arrays) if kind == "fram" else None)
    with pytest.raises(CacheError, match=f"{name!r} names bodies"):
        FrameCacheReader(cache).read(folder.spec.frame_start + 1)


def test_a_frame_whose_numbers_are_not_finite_is_refused_and_baked_again(folder):
    def change(fields, arrays):
        arrays["poses"][0, 0] = np.nan

    cache = with_chunk(folder, "fram", change)
    with pytest.raises(CacheError, match="'poses' has numbers that are not finite"):
        FrameCacheReader(cache).read(1)
    assert worked(folder.path / "sound.snapshot", cache, "--resume")[0] in (0, 3)
    assert len(list(FrameCacheReader(cache))) == 5


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such files")
def test_a_pipe_is_no_cache_and_no_snapshot_and_is_not_waited_for(folder):
    pipe = folder.path / "pipe"
    os.mkfifo(pipe)
    try:
        with pytest.raises(OSError, match="is no file"):
            FrameCacheReader(pipe)
        with pytest.raises(OSError, match="is no file"):
            read_snapshot(pipe)
        with pytest.raises(OSError, match="is no file"):
            FrameCacheWriter.create(pipe, folder.spec, folder.settings)
        assert worked(pipe, pipe)[0] == 2
    finally:
        pipe.unlink()


def test_a_report_that_would_be_a_folder_is_an_error_and_no_crash(folder, capsys):
    assert worker.main([str(folder.path / "nothing"), str(folder.path / "none"), "--report", "."]) == 2
    assert "is a folder; name a file" in capsys.readouterr().out


def test_a_cache_or_a_report_that_would_be_written_over_the_snapshot_is_refused(folder, capsys):
    (folder.path / "case.cache").write_bytes(folder.cache)
    snapshot, cache = folder.path / "sound.snapshot", folder.path / "case.cache"
    for arguments in ((snapshot, snapshot), (snapshot, cache, "--report", snapshot), (snapshot, cache, "--report", cache)):
        status, said, _ = worked(*arguments)
        assert status == 2 and "are the same file" in said
    assert snapshot.read_bytes() == folder.snapshot and cache.read_bytes() == folder.cache


@pytest.mark.parametrize("arguments", [["--", "x", "--"], ["x", "--", "--"], ["--", "--"]])
def test_two_dashes_are_no_name_of_a_file(arguments, capsys):
    assert worker.main(arguments) == 2
    assert "usage: python -m solver_core.worker" in capsys.readouterr().out


def test_a_snapshot_is_not_written_over_another_kind_of_file(folder):
    path = folder.path / "case.snapshot"
    path.write_bytes(b"somebody's own")
    with pytest.raises(OSError, match="is not a scene snapshot"):
        write_snapshot(path, folder.spec, folder.settings)
    assert path.read_bytes() == b"somebody's own"


@pytest.mark.filterwarnings("ignore:overflow encountered", "ignore:invalid value encountered")
def test_what_moves_beyond_all_numbers_is_named_and_no_frame_of_it_is_written(folder):
    """A frame of 1e300 seconds, in which a card falls 5e600 metres."""
    snapshot, cache = folder.path / "beyond.snapshot", folder.path / "beyond.cache"
    write_snapshot(snapshot, replace(folder.spec, fps=1e-300), folder.settings)
    status, said, errors = worked(snapshot, cache)
    assert status == 1 and "stopped after frame 1" in said and "Card 1.1L: velocity: its motion is too large" in said
    assert "Traceback" not in errors and [frame.frame for frame in FrameCacheReader(cache)] == [1]


@pytest.mark.parametrize("method", [method.value for method in ContactMethod])
def test_a_step_whose_time_is_over_before_it_begins_is_missed_and_no_error(folder, method):
    frame = Simulation(folder.spec, folder.settings, method=method, step_time_limit=1e-9).advance()
    assert np.isfinite(frame.poses).all() and np.isin(frame.statistics.status, list(Status)).all()
