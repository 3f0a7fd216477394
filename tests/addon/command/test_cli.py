# SPDX-License-Identifier: GPL-3.0-or-later
"""The command line: what it accepts, what it leaves on disk, and how it ends."""

from __future__ import annotations

import json
import os
import re
import signal
import stat
import subprocess
import sys
import tomllib
from pathlib import Path

import bpy
import pytest

from ..objects import world_matrix

ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.slow
def test_a_bake_writes_keyframes_and_leaves_its_input_alone(run, file, fake_worker, tmp_path, capsys):
    before = file.read_bytes()
    output = tmp_path / "baked.blend"
    assert run("bake", file, "-o", output) == 0
    assert file.read_bytes() == before
    assert "%" in capsys.readouterr().out
    bpy.ops.wm.open_mainfile(filepath=str(output))
    scene = bpy.context.scene
    assert scene.stiction.bake.state == "KEYED"
    ob = bpy.data.objects["Cube.001"]
    scene.frame_set(4)
    expected = fake_worker.displacement(0, 4) @ [0, 0, 2, 1]
    assert world_matrix(ob)[:, 3] == pytest.approx(expected, abs=1e-5)


def test_keyframes_are_as_the_arguments_want_them(run, file, fake_worker, tmp_path, capsys):
    output = tmp_path / "baked.blend"
    assert run("bake", file, "-o", output, "--keys-within", "0.5", "0.1", "--keys-per-frame", "2", "--nla") == 0
    said = capsys.readouterr().out
    assert "off the cache by at most" in said and "degrees (" in said
    bpy.ops.wm.open_mainfile(filepath=str(output))
    data = bpy.data.objects["Cube.001"].animation_data
    assert data.action is None and [len(track.strips) for track in data.nla_tracks] == [1]
    assert run("bake", file, "-o", output, "--keys-step", "3") == 0
    bpy.ops.wm.open_mainfile(filepath=str(output))
    from stiction.addon.blender import actions

    curve = next(iter(actions.curves(bpy.data.objects["Cube.001"])))
    assert [point.co[0] for point in curve.keyframe_points] == [1.0, 4.0, 5.0]


def test_the_open_file_is_baked_when_none_is_named(run, file, fake_worker, tmp_path):
    bpy.ops.wm.open_mainfile(filepath=str(file))
    assert run("bake", "-o", tmp_path / "baked.blend") == 0
    bpy.ops.wm.read_factory_settings(use_empty=True)
    assert run("bake", "-o", tmp_path / "other.blend") == 2


def test_arguments_reach_the_solver_and_the_bodies(run, file, fake_worker, tmp_path, monkeypatch):
    seen = {}
    plain = fake_worker.__init__

    def remember(self, snapshot, cache, **options):
        plain(self, snapshot, cache, **options)
        seen.update(spec=self.spec, settings=self.settings, cache=Path(cache), **options)

    monkeypatch.setattr(fake_worker, "__init__", remember)
    status = run(
        *("bake", file, "-o", tmp_path / "baked.blend", "--start", 2, "--end", 4, "--method", "staggered"),
        *(
            "--tolerance",
            "1e-4",
            "--max-iterations",
            77,
            "--step-time-limit",
            2.5,
            "--moving-tolerance",
            0.01,
            "--substeps",
            13,
            "--threads",
            3,
            "--cache",
            tmp_path / "elsewhere",
            "--resume",
        ),
        *("--set", "Cube.001:friction=0.625", "--set", "Cube.001:mass=3", "--set", "Odd:name=x:restitution=0.25"),
        *("--set", "Odd:name=x:density=750", "--set", "Odd:name=x:mu_dynamic=0.125"),
    )
    assert status == 0
    spec, settings = seen["spec"], seen["settings"]
    assert (spec.frame_start, spec.frame_end, settings.substeps, settings.max_iterations) == (2, 4, 13, 77)
    assert settings.step_time_limit == 2.5
    assert (settings.tolerance, settings.moving_tolerance) == pytest.approx((1e-4, 0.01))
    assert seen["cache"].parent == tmp_path / "elsewhere" and seen["resume"] is True and seen["threads"] == 3
    bodies = {body.name: body for body in spec.bodies}
    cube, odd = bodies["Cube.001"], bodies["Odd:name=x"]
    assert (cube.material.mu_static, cube.material.mu_dynamic, cube.mass) == (0.625, 0.625, 3.0)
    assert (odd.material.mu_static, odd.material.mu_dynamic, odd.material.restitution) == (0.5, 0.125, 0.25)
    assert (odd.mass, odd.density) == (None, 750.0)


def test_a_command_line_of_a_farm_for_an_earlier_version_bakes_and_is_told_what_has_no_effect(
    run, file, fake_worker, tmp_path, monkeypatch, capsys
):
    seen = []
    plain = fake_worker.__init__

    def remember(self, snapshot, cache, **options):
        plain(self, snapshot, cache, **options)
        seen.append(self.settings)

    monkeypatch.setattr(fake_worker, "__init__", remember)
    command = "bake", file, "-o", tmp_path / "baked.blend", "--tolerance", "1e-5"
    former = "--crowd-tolerance", "1e-4", "--crowd-limit", "1e-3", "--step-accuracy", "1e-3", "--staggering", "accelerated"
    assert run(*command, *former) == 0
    said = capsys.readouterr().out
    for option in ("--crowd-limit", "--step-accuracy", "--staggering"):
        assert f"warning: {option} no longer has an effect" in said
    assert "--moving-tolerance" in said and "--crowd-tolerance" not in said
    assert run(*command, "--moving-tolerance", "1e-4") == 0
    assert "warning" not in capsys.readouterr().out
    assert seen[0] == seen[1] and seen[0].moving_tolerance == pytest.approx(1e-4)


def test_the_help_has_no_options_of_earlier_versions(run, capsys):
    assert run("bake", "--help") == 0
    said = capsys.readouterr().out
    assert "--moving-tolerance" in said
    assert not any(option in said for option in ("crowd", "--step-accuracy", "--staggering"))


@pytest.mark.slow
def test_the_null_device_takes_a_report_and_stays_a_device(run, file, tmp_path, capsys):
    assert run("bake", file, "-o", tmp_path / "baked.blend", "--end", 2, "--report", os.devnull) == 0
    assert stat.S_ISCHR(os.stat(os.devnull).st_mode) or sys.platform == "win32"


@pytest.mark.slow
def test_standard_output_gets_the_report_and_nothing_else(run, file, tmp_path, capfd):
    """Not even what Blender says by itself."""
    command = [sys.executable, "-c", "from tests.addon.loading import load_extension; load_extension();"
               "from stiction.addon.command.console import main; main()"]  # fmt: skip
    output = tmp_path / "baked.blend"
    whole = [*command, "bake", str(file), "-o", str(output), "--end", "2", "--report", "-"]
    done = subprocess.run(whole, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) and "stiction:" in done.stderr
    capfd.readouterr()
    assert run("report", output, "-o", "-") == 0
    assert json.loads(capfd.readouterr().out)["totals"]["frames"] == 2


@pytest.mark.parametrize(
    ("worker_status", "status", "written"), [(0, 0, True), (3, 3, True), (2, 2, False), (1, 1, False), (4, 4, False)]
)
def test_the_worker_decides_the_status(run, file, fake_worker, tmp_path, worker_status, status, written):
    fake_worker.status = worker_status
    output = tmp_path / "baked.blend"
    assert run("bake", file, "-o", output) == status
    assert output.exists() == written


def test_help_is_no_error(run, capsys):
    assert run("bake", "--help") == 0
    assert "--max-iterations" in capsys.readouterr().out


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_worker_and_says_how_to_go_on(run, file, fake_worker, tmp_path, capsys, monkeypatch, number):
    """Also where Blender has made itself deaf to it, as it does to Ctrl+C."""
    plain, ended = fake_worker.all_events, []

    def interrupted(self, check):
        for event in plain(self):
            check()
            yield event
            if getattr(event, "record", {}).get("frame") == 3:
                signal.raise_signal(number)

    monkeypatch.setattr(fake_worker, "all_events", interrupted)
    monkeypatch.setattr(fake_worker, "end", lambda self: ended.append(True))
    before = signal.signal(number, signal.SIG_IGN)
    try:
        assert run("bake", file, "-o", tmp_path / "baked.blend") == 1
        assert signal.getsignal(number) is signal.SIG_IGN
    finally:
        signal.signal(number, before)
    assert ended == [True] and "--resume" in capsys.readouterr().err
    assert not (tmp_path / "baked.blend").exists()


def test_resuming_what_is_not_there_begins_and_says_so(run, file, fake_worker, tmp_path, capsys):
    output = tmp_path / "baked.blend"
    assert run("bake", file, "-o", output) == 0
    capsys.readouterr()
    assert run("bake", file, "-o", output, "--resume") == 0
    assert "to resume; the bake starts at the first frame" not in capsys.readouterr().out
    assert run("bake", file, "-o", output, "--resume", "--set", "Cube.001:friction=0.25") == 0
    said = capsys.readouterr().out
    assert "to resume; the bake starts at the first frame" in said and str(tmp_path / "cache") in said


def test_bakes_of_one_file_with_other_settings_have_files_of_their_own(run, file, fake_worker, tmp_path):
    for friction in (0.25, 0.5, 0.25):
        assert run("bake", file, "-o", tmp_path / "baked.blend", "--set", f"Cube.001:friction={friction}") == 0
    names = sorted(path.name for path in (tmp_path / "cache").iterdir() if path.suffix != ".shown")
    assert [name.rpartition(".")[2] for name in names] == ["cache", "snapshot"] * 2
    assert len({name.rpartition(".")[0] for name in names}) == 2


def test_compiling_into_what_is_no_folder_is_refused_by_the_process_that_compiles(run, tmp_path, capfd):
    taken = tmp_path / "taken"
    taken.write_text("")
    assert run("compile", taken) == 2
    assert "taken" in capfd.readouterr().err


def test_a_contact_problem_is_solved_without_a_scene(run, tmp_path, capfd):
    problem = tmp_path / "a.dat"
    problem.write_text("3\n1\n0\n3\n3\n3 3\n 1 0 0\n 0 1 0\n 0 0 1\n -1 1 0\n 0.5\n")
    assert run("solve", problem, "--tolerance", "1e-9") == 0
    assert "status: SOLVED" in capfd.readouterr().out
    problem.write_text("3\n1\n")
    assert run("solve", problem) == 2
    assert "cut off" in capfd.readouterr().err
    assert run("solve") == 2


def test_contact_problems_are_captured_where_that_is_asked_for(run, file, fake_worker, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run("bake", file, "-o", "baked.blend") == 0
    assert fake_worker.capture == ()
    wanted = ("--capture", "problems", "--capture-steps", "10:20", "--capture-format", "hdf5")
    assert run("bake", file, "-o", "baked.blend", *wanted) == 0
    # whole, for the worker may be in another folder
    assert fake_worker.capture == ("--capture", str(tmp_path / "problems"), *wanted[2:])
    capsys.readouterr()
    assert run("bake", file, "-o", "baked.blend", "--capture", "problems", "--capture-steps", "20:10") == 2
    assert "--capture-steps: 20:10 ends before it begins" in capsys.readouterr().err


def test_compiling_needs_a_folder_and_no_scene(run, capsys):
    assert run("compile") == 2
    assert "FOLDER" in capsys.readouterr().err


@pytest.mark.parametrize("how", ["stopped", "killed"])
def test_no_frames_are_promised_of_a_cache_that_is_gone(run, file, fake_worker, tmp_path, capsys, monkeypatch, how):
    from stiction.addon.bake import job

    plain = fake_worker.all_events

    def taken_away(self, check):
        for event in plain(self):
            if getattr(event, "record", {}).get("frame") == 3:
                os.remove(self.cache)
                if how == "stopped":
                    signal.raise_signal(signal.SIGINT)
                    check()
                break
            yield event
        yield job.WorkerEnded(-9)

    monkeypatch.setattr(fake_worker, "all_events", taken_away)
    assert run("bake", file, "-o", tmp_path / "baked.blend") == 1
    said = capsys.readouterr().err
    assert "in the cache" not in said and "resume" not in said


def test_the_version_is_that_of_the_extension(run, capsys):
    assert run("--version") == 0
    manifest = tomllib.loads((ROOT / "blender_manifest.toml").read_text())
    assert capsys.readouterr().out == f"stiction {manifest['version']}\n"


def test_another_scene_of_the_file_can_be_named(run, file, fake_worker, tmp_path, capsys):
    bpy.ops.wm.open_mainfile(filepath=str(file))
    bpy.data.scenes.new("Empty\none")
    bpy.context.window.scene = bpy.data.scenes["Empty\none"]
    bpy.ops.wm.save_mainfile()
    output = tmp_path / "baked.blend"
    assert run("bake", file, "-o", output) == 2
    assert run("bake", file, "-o", output, "--scene", "Scene") == 0
    bpy.ops.wm.open_mainfile(filepath=str(output))
    assert bpy.data.scenes["Scene"].stiction.bake.state == "KEYED"
    assert run("report", output, "-o", tmp_path / "a.csv", "--scene", "Scene") == 0
    capsys.readouterr()
    assert run("report", output, "-o", tmp_path / "b.csv", "--scene", "Shot") == 2
    assert "there is no scene Shot in the file, which has Empty\\none, Scene" in capsys.readouterr().err


def test_time_and_time_left_are_told(run, file, fake_worker, tmp_path, capsys):
    assert run("bake", file, "-o", tmp_path / "baked.blend") == 0
    told = [line for line in capsys.readouterr().out.splitlines() if "Frame 4 of 5" in line]
    assert len(told) == 1 and re.search(r"contacts, \d+ s, about \d+ s left$", told[0])


@pytest.mark.slow
@pytest.mark.parametrize("missing", ["numpy", "stiction.addon.panels.ui"])
def test_what_cannot_be_loaded_ends_with_a_status_and_does_not_wait(missing):
    """As for want of memory; Blender's own end has waited for ever."""
    code = f"import sys; from tests.addon.loading import load_extension; load_extension(); sys.modules[{missing!r}] = None\n"
    code += "for name in [name for name in sys.modules if name.startswith('stiction.')]: del sys.modules[name]\n"
    code += f"sys.modules[{missing!r}] = None; sys.argv = ['stiction', 'check']; from stiction import main; main()"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 1 and "cannot be loaded" in done.stderr


WITHOUT_BPY = """
import importlib.util, sys
class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"bpy", "mathutils"}:
            raise ImportError(f"{name} was imported")
sys.meta_path.insert(0, Refuse())
spec = importlib.util.spec_from_file_location("stiction", "__init__.py", submodule_search_locations=["."])
module = sys.modules["stiction"] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
sys.argv = ["stiction", *ARGUMENTS]
module.main()
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        (["--help"], 0, "solve a contact problem in a file"),
        (["bake", "--help"], 0, "linear_damping"),
        (["bake"], 2, "required: -o/--output"),
        (["solve", "pyproject.toml"], 2, "no contact problem as Siconos prints it"),
        (["check", "scene.blend"], 1, "need the Python module bpy"),
    ],
)
def test_help_and_solve_need_no_blender(arguments, status, words):
    code = WITHOUT_BPY.replace("ARGUMENTS", repr(arguments))
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == status and words in done.stdout + done.stderr


def test_the_fields_that_the_help_names_are_those_that_can_be_set(extension):
    from stiction.addon.command import changes, options

    assert tuple(changes.SETTERS) == options.FIELDS
