# SPDX-License-Identifier: GPL-3.0-or-later
"""A sweep bakes every variation with the worker's bits, whoever is lost meanwhile, and takes nothing half done for a result."""

from __future__ import annotations

import csv
import io
import os
import signal
import subprocess
import sys
import time
from contextlib import redirect_stdout

import psutil
import pytest

from solver_core import worker
from solver_core.io.cache import FrameCacheReader
from solver_core.io.snapshot import snapshot_digest
from solver_core.process.file_lock import FileLock
from solver_core.sweep import cluster
from solver_core.sweep.__main__ import main
from solver_core.sweep.apply import applied
from solver_core.sweep.axes import parse_axes, variations
from solver_core.sweep.cluster import refuse_workers
from solver_core.sweep.folder import files_of
from solver_core.sweep.outcome import Outcome, State
from solver_core.sweep.pool import PoolLost
from solver_core.sweep.run import Progress
from solver_core.sweep.task import software_versions

from ..worker_runs import ROOT, SECONDS_TO_END, SETTINGS, poses, scene, snapshot

POSIX_ONLY = pytest.mark.skipif(sys.platform == "win32", reason="Windows ends processes without a signal that they could see")
VARIED = ("seed=1,2",)
# Long enough to be interrupted in the middle.
SPEC = scene(120)


def sweep(folder, *arguments, vary=VARIED, spec=SPEC, workers=2):
    command = [sys.executable, "-m", "solver_core.sweep", snapshot(folder, spec), str(folder / "out")]
    command += [f"--vary={axis}" for axis in vary]
    pipes = dict.fromkeys(("stdout", "stderr"), subprocess.PIPE)
    command += [] if workers is None else ["--workers", str(workers)]
    return subprocess.Popen([*command, *arguments], cwd=ROOT, text=True, **pipes)


def ended(process):
    said = process.communicate(timeout=5 * SECONDS_TO_END)
    return process.returncode, *said


def sheet(folder):
    with (folder / "out" / "sheet.csv").open(newline="", encoding="utf-8") as lines:
        return list(csv.DictReader(lines))


def caches(folder):
    return sorted((folder / "out" / "bakes").glob("*.cache"))


def wait_for_frames(folder, process):
    """Until a bake is in its middle; returns its cache."""
    while process.poll() is None:
        for cache in caches(folder):
            if cache.stat().st_size and 12 < len(FrameCacheReader(cache).frames) < 90:
                return cache
        time.sleep(0.02)
    raise AssertionError(f"it ended before: {process.communicate()}")


def bakers_of(process):
    return [one for one in psutil.Process(process.pid).children(recursive=True) if "solver_core.warm_worker" in one.cmdline()]


def gone(processes):
    return not psutil.wait_procs(processes, timeout=SECONDS_TO_END)[1]


def name_of(row):
    return f"seed={row['seed']}"


def baked(folder):
    """The frames of each variation of a sweep, by the variation's name."""
    return {name_of(row): poses(folder / "out" / row["cache"]) for row in sheet(folder)}


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """The frames of each variation as the worker alone bakes them, by the variation's name."""
    found = {}
    for variation in variations(parse_axes(VARIED)):
        folder = tmp_path_factory.mktemp("alone")
        written = snapshot(folder, *applied(SPEC, SETTINGS, variation, 0.01))
        with redirect_stdout(io.StringIO()):
            assert worker.main([written, str(folder / "cache")]) == 0
        found[variation.name] = poses(folder / "cache")
    return found


@pytest.fixture(scope="module")
def robbed(tmp_path_factory):
    """The folder of a sweep that lost one of its processes in the middle, and what that said."""
    folder = tmp_path_factory.mktemp("robbed")
    process = sweep(folder)
    wait_for_frames(folder, process)
    bakers_of(process)[0].kill()
    status, said, trouble = ended(process)
    assert (status, trouble) == (0, "")
    return folder, said


@pytest.mark.slow
def test_a_sweep_that_loses_a_worker_in_the_middle_ends_with_the_same_bits(robbed, undisturbed):
    folder, said = robbed
    assert "2 of 2 variations are baked; " in said
    assert baked(folder) == undisturbed
    assert all(row["state"] == "baked" and row["missed_steps"] == "0" for row in sheet(folder))


@pytest.mark.slow
def test_what_an_earlier_sweep_has_baked_is_not_baked_twice(robbed):
    folder, _ = robbed
    before = {cache: cache.stat().st_mtime_ns for cache in caches(folder)}
    assert len(before) == 2
    status, said, trouble = ended(sweep(folder, "--workers=1", vary=["seed=1:3"]))
    assert (status, trouble) == (0, "")
    assert "3 of 3 variations are baked, 2 of them by an earlier run; " in said
    assert {cache: cache.stat().st_mtime_ns for cache in before} == before
    assert baked(folder).keys() == {"seed=1", "seed=2", "seed=3"}


@pytest.fixture(scope="module")
def stopped(tmp_path_factory):
    """A sweep that was stopped in its middle: its folder, a cache that was begun, how it ended, and who baked for it."""
    folder = tmp_path_factory.mktemp("stopped")
    process = sweep(folder)
    begun = wait_for_frames(folder, process)
    bakers = bakers_of(process)
    process.send_signal(signal.SIGINT)
    return folder, begun, ended(process), bakers


@pytest.mark.slow
@POSIX_ONLY
def test_one_that_was_stopped_leaves_nobody_behind(stopped):
    folder, _, (status, _, trouble), bakers = stopped
    assert status == 1
    assert trouble == "stiction: error: stopped (SIGINT); the same command goes on after the frames so far\n"
    assert bakers and gone(bakers)
    assert not (folder / "out" / "sheet.csv").exists()


@pytest.mark.slow
@POSIX_ONLY
def test_one_that_was_stopped_goes_on_when_it_is_started_again(stopped, undisturbed):
    folder, begun, *_ = stopped
    assert 12 < len(poses(begun)) < 120
    # what is there by its name alone is no bake
    begun.write_bytes(begun.read_bytes()[:-100])
    status, said, trouble = ended(sweep(folder, "--workers=1"))
    assert (status, trouble) == (0, "")
    assert "earlier" not in said
    assert baked(folder) == undisturbed


def test_the_files_of_another_scene_or_another_push_have_other_names(tmp_path):
    (variation,) = variations(parse_axes(["seed=1"]))
    digests = {
        snapshot_digest(*applied(spec, SETTINGS, variation, nudge)) for spec in (scene(2), SPEC) for nudge in (0.01, 0.02)
    }
    assert len({files_of(tmp_path, variation.name, digest).cache for digest in digests}) == 4
    odd = files_of(tmp_path, "../../Körper:friction=" + 300 * "x", "0" * 32).cache
    assert odd.parent == tmp_path / "bakes" and len(odd.name) < 110 and odd.name.isascii()


def refused(capsys, *arguments):
    status = main([str(argument) for argument in arguments])
    return status, capsys.readouterr().err


def test_two_sweeps_do_not_work_in_one_folder(tmp_path, capsys):
    (tmp_path / "out").mkdir()
    lock = FileLock.acquire(tmp_path / "out" / "sweep")
    status, said = refused(capsys, snapshot(tmp_path), tmp_path / "out", "--vary", "seed=1")
    lock.release()
    assert status == 1 and f"another sweep is at work in this folder: process {os.getpid()}" in said


def test_nothing_is_written_where_something_is_wrong(tmp_path, capsys):
    scene_file = snapshot(tmp_path)
    for arguments, why in (
        (("--vary", "frction=1"), "'frction' cannot be varied"),
        ((), "nothing is varied"),
        (("--vary", "seed=1", "--workers", "0"), "--workers: 0 is less than 1"),
        (("--vary", "seed=1", "--threads", "-1"), "--threads: -1 is not between"),
        (("--vary", "seed=1", "--nudge", "nan"), "--nudge: nan must be 0 or more"),
        (("--vary", "seed=1", "--stands-within", "-1", "3"), "--stands-within: -1 mm"),
    ):
        status, said = refused(capsys, scene_file, tmp_path / "out", *arguments)
        assert status == 2 and why in said
    assert not (tmp_path / "out").exists()


def test_a_file_is_no_folder_and_a_sheet_of_somebody_else_is_left(tmp_path, capsys):
    scene_file = snapshot(tmp_path)
    status, said = refused(capsys, scene_file, scene_file, "--vary", "seed=1")
    assert status == 2 and "is a file; the folder of a sweep has to be a folder" in said
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "sheet.csv").write_text("my own figures\n")
    status, said = refused(capsys, scene_file, tmp_path / "out", "--vary", "seed=1")
    assert status == 2 and "exists and is not a table of Stiction" in said
    assert (tmp_path / "out" / "sheet.csv").read_text() == "my own figures\n"


def test_only_a_cluster_needs_a_library_which_is_named_with_the_command_that_installs_it(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(cluster.importlib.util, "find_spec", lambda name: None)
    given = snapshot(tmp_path), tmp_path / "out", "--vary", "seed=1"
    status, said = refused(capsys, *given, "--scheduler", "tcp://127.0.0.1:9")
    assert status == 2 and "-m pip install distributed" in said
    status, said = refused(capsys, *given, "--vary", "friction=x")
    assert status == 2 and "distributed" not in said
    code = "import sys, solver_core.sweep.__main__; sys.exit('distributed' in sys.modules or 'dask' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT).returncode == 0


def test_a_folder_of_bakes_that_is_a_link_is_not_followed(tmp_path, capsys):
    (tmp_path / "out").mkdir()
    (tmp_path / "other").mkdir()
    try:
        (tmp_path / "out" / "bakes").symlink_to(tmp_path / "other", target_is_directory=True)
    except OSError:
        pytest.skip("this system lets nobody make links")
    status, said = refused(capsys, snapshot(tmp_path), tmp_path / "out", "--vary", "seed=1")
    assert status == 2 and "is a link, which is not followed" in said
    assert not any((tmp_path / "other").iterdir())


def test_a_snapshot_that_is_handed_over_is_removed_once_it_is_read(tmp_path, capsys):
    given = snapshot(tmp_path)
    status, _ = refused(capsys, given, tmp_path / "out", "--vary", "Nobody:friction=1", "--take-snapshot")
    assert status == 2 and not os.path.exists(given)


@pytest.mark.slow
@POSIX_ONLY
def test_a_sweep_that_is_killed_leaves_nothing_in_the_temporary_folder(tmp_path, monkeypatch):
    (tmp_path / "temporary").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    process = sweep(tmp_path)
    wait_for_frames(tmp_path, process)
    bakers = bakers_of(process)
    process.kill()
    process.communicate()
    assert bakers and gone(bakers)
    assert not [one.name for one in (tmp_path / "temporary").iterdir() if one.name.startswith("stiction")]


@pytest.mark.long
def test_a_cluster_that_loses_a_worker_in_the_middle_ends_with_the_same_bits(tmp_path, undisturbed):
    from distributed import LocalCluster

    local = {"host": "127.0.0.1", "dashboard_address": "127.0.0.1:0", "local_directory": str(tmp_path / "scratch")}
    with LocalCluster(n_workers=2, threads_per_worker=1, **local) as machines:
        process = sweep(tmp_path, "--scheduler", machines.scheduler_address, workers=None)
        wait_for_frames(tmp_path, process)
        mine = psutil.Process().children(recursive=True)
        # not one of another test, whose parent is the process of the tests
        bakers = [one for one in mine if "solver_core.warm_worker" in one.cmdline() and one.ppid() != psutil.Process().pid]
        bakers[0].parent().kill()
        status, _, trouble = ended(process)
    assert (status, trouble) == (0, "")
    assert baked(tmp_path) == undisturbed


def test_what_is_no_address_is_refused_and_a_scheduler_that_does_not_answer_is_named(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(cluster, "SECONDS_TO_ANSWER", 0.2)
    folder = tmp_path / "out"
    status, said = refused(capsys, snapshot(tmp_path), folder, "--vary", "seed=1", "--scheduler", "nowhere")
    assert status == 2 and "'nowhere' is not an address of a scheduler" in said
    status, said = refused(capsys, snapshot(tmp_path), folder, "--vary", "seed=1", "--scheduler", "tcp://127.0.0.1:9")
    assert status == 1 and "the scheduler at tcp://127.0.0.1:9 does not answer within 0.2 s" in said


class Answers:
    """A client whose workers say what they are told to."""

    def __init__(self, versions, digests):
        self.versions, self.digests = versions, digests

    def run(self, function, *arguments, on_error="raise"):
        return self.digests if arguments else self.versions


def test_a_worker_of_another_version_and_one_without_the_folder_are_refused_by_name():
    mine = software_versions()
    digests = {"tcp://a:1": "d", "tcp://b:1": "d"}
    refuse_workers(Answers(dict.fromkeys(digests, mine), digests), "/sweep", "d")
    older = {**mine, "numba": "0.1"}
    with pytest.raises(PoolLost, match=rf"tcp://b:1 has numba 0.1 where this has {mine['numba']}"):
        refuse_workers(Answers({"tcp://a:1": mine, "tcp://b:1": older}, digests), "/sweep", "d")
    absent = ModuleNotFoundError("No module named 'solver_core'")
    with pytest.raises(PoolLost, match="tcp://b:1 has no solver_core that knows sweeps"):
        refuse_workers(Answers({"tcp://a:1": mine, "tcp://b:1": absent}, digests), "/sweep", "d")
    with pytest.raises(PoolLost, match=r"reach the folder of the sweep as /sweep\ntcp://b:1 does not have it"):
        refuse_workers(Answers(dict.fromkeys(digests, mine), {"tcp://a:1": "d", "tcp://b:1": ""}), "/sweep", "d")


def test_the_time_left_is_that_of_the_steps_and_not_of_loading_kernels():
    progress = Progress(4, 100, begin=0.0)
    progress.heard({"key": 0, "frames": 1, "baked": 1})
    assert "left" not in progress.line(60.0)
    progress.pace_from = 60.0, 2
    progress.heard({"key": 0, "frames": 52, "baked": 52})
    assert progress.line(65.0) == " 13 %  0 of 4 variations, 1:05 min, about 35 s left"
    progress.ended(1, Outcome(State.BAKED, "", 0))
    assert progress.percent() == 38
    progress.heard({"kernels": 7})
    assert "compiling" not in progress.line(70.0)
    assert "compiling once, 7 kernels" in Progress(1, 1, begin=0.0, kernels=7).line(1.0)
