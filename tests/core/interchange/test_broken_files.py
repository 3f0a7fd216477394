# SPDX-License-Identifier: GPL-3.0-or-later
"""A damaged file, a layer that is lost, and text in place of a number are named with the file, and nothing is read."""

from __future__ import annotations

import base64
import json
import math
import os
import re
import signal
import struct
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from solver_core.interchange import usd_process
from solver_core.interchange.described import Described, Found
from solver_core.interchange.files import read, read_usd_here, write
from solver_core.io.foreign import malformed_refused
from solver_core.scenes import jointed, plain
from solver_core.validation.findings import SceneError
from solver_core.validation.scene import LAST_FRAME, validate

from ..foreign_fuzzing import KINDS, Foreign, packed
from ..fuzzing import try_case

HEAD = '#usda 1.0\n(\n defaultPrim = "A"\n upAxis = "Z"\n metersPerUnit = 1\n%s)\n'
BODY = (
    'def Cube "A" (\n prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsCollisionAPI", "PhysicsMassAPI"]\n)\n'
    "{\n double size = 1\n %s\n}\n"
)
FLOOR = 'def Cube "Floor" (\n prepend apiSchemas = ["PhysicsCollisionAPI"]\n)\n{\n double size = 1\n}\n'
GOOD = HEAD % "" + BODY % ""
BOX = {"asset": {"version": "2.0"}, "scenes": [{"nodes": [0, 1]}]}
PHYSICS, SHAPES = "KHR_physics_rigid_bodies", "KHR_implicit_shapes"


def usda(tmp_path, *, head="", body="", more=""):
    # OpenUSD keeps a layer by its name for as long as anybody has it
    file = tmp_path / f"top{len(list(tmp_path.iterdir()))}.usda"
    file.write_text(HEAD % head + BODY % body + FLOOR + more)
    return file


def refusal(file):
    reader = read_usd_here if file.suffix.startswith(".usd") else read
    with pytest.raises(SceneError) as caught:
        reader(file, Found())
    assert all(one.object and one.message for one in caught.value.problems)
    return str(caught.value)


def layers(folder: Path) -> None:
    """Layers that are there, and that nobody can read."""
    from pxr import Usd

    (folder / "good.usda").write_text(GOOD)
    Usd.Stage.Open(str(folder / "good.usda")).Export(str(folder / "good.usdc"))
    content = (folder / "good.usdc").read_bytes()
    (folder / "cut.usdc").write_bytes(content[: len(content) // 2])
    flipped = bytearray(content)
    flipped[len(content) // 2] ^= 0xFF
    (folder / "flip.usdc").write_bytes(flipped)
    (folder / "cut.usda").write_text(GOOD[: 2 * len(GOOD) // 3])
    (folder / "empty.usda").write_text("")
    (folder / "text.usda").write_text("hello")
    (folder / "prop.abc").write_text("Ogawa")
    (folder / "prop.obj").write_text("v 0 0 0\n")
    (folder / "noending").write_text(GOOD)


LOST = (
    *("cut.usda", "empty.usda", "text.usda", "cut.usdc", "prop.abc", "prop.obj", "noending"),
    *("missing.abc", "missing", "missing.usda", "missing.usd", "/etc/passwd"),
)


@pytest.mark.parametrize("name", LOST)
def test_a_layer_that_cannot_be_opened_is_named_whatever_its_ending(tmp_path, name):
    layers(tmp_path)
    arc = 'def Xform "r" (\n prepend %s = @' + name + "@\n)\n{\n}\n"
    for file in (
        usda(tmp_path, more=arc % "references"),
        usda(tmp_path, more=arc % "payload"),
        usda(tmp_path, head=f" subLayers = [@{name}@]\n"),
    ):
        assert Path(name).name in refusal(file)


def test_a_layer_with_a_flipped_byte_is_refused_for_what_it_says(tmp_path):
    """OpenUSD opens it; what is wrong is a value, on a prim that is named."""
    layers(tmp_path)
    assert refusal(usda(tmp_path, more='def Xform "r" (\n prepend references = @flip.usdc@\n)\n{\n}\n')).startswith("/r")


def test_layers_that_can_be_opened_are_read(tmp_path):
    layers(tmp_path)
    sublayer = usda(tmp_path, head=" subLayers = [@good.usda@]\n", body="float physics:mass = 3")
    assert len(read_usd_here(sublayer, Found()).spec.bodies) == 2


def test_references_in_a_circle_are_named(tmp_path):
    circle = 'def Xform "r" (references = </r/x>)\n{\n def Xform "x" (references = </r>)\n{\n}\n}\n'
    said = refusal(usda(tmp_path, more=circle))
    assert "Cycle" in said and "/r" in said
    assert "cycles" in refusal(usda(tmp_path, head=" subLayers = [@top1.usda@]\n"))


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ('string physics:mass = "heavy"', "mass"),
        ('string physics:velocity = "fast"', "velocity"),
        ("float3 physics:principalAxes = (0, 0, 1)\n float3 physics:diagonalInertia = (1, 1, 1)", "principalAxes"),
        ('string size = "large"', "size"),
    ],
)
def test_text_in_place_of_a_number_is_named_with_its_prim(tmp_path, body, words):
    file = usda(tmp_path, body="" if "size" in body else body)
    if "size" in body:
        file.write_text(file.read_text().replace("double size = 1", body, 1))
    assert file.name == "top0.usda"
    said = refusal(file)
    assert words in said and ("/A" in said or "top0.usda" in said)


def test_bytes_that_are_no_text_are_refused_with_the_name_of_the_file(tmp_path):
    file = tmp_path / "top.usda"
    file.write_bytes(GOOD.encode().replace(b"double size", b"dou\xff\xfele size", 1))
    assert "top.usda" in refusal(file)


def test_values_that_are_damaged_and_read_late_are_refused_with_the_name_of_the_file(tmp_path):
    whole = tmp_path / "whole.usdc"
    write(Described(plain.arch()), whole, Found())
    content, refused = whole.read_bytes(), 0
    for number, place in enumerate(range(100, len(content) - 100, max(1, len(content) // 25))):
        spoilt = bytearray(content)
        spoilt[place : place + 24] = b"\xa5" * 24
        file = tmp_path / f"late{number}.usdc"
        file.write_bytes(spoilt)
        try:
            read_usd_here(file, Found())
        except SceneError as error:
            refused += 1
            assert all(one.object == str(file) or one.object.startswith("/") for one in error.problems)
    assert refused > 3


@pytest.mark.parametrize("last", ["1000000000", "1e300"])
@pytest.mark.parametrize("body", ["", "bool physics:kinematicEnabled = 1"])
def test_a_frame_range_beyond_every_timeline_is_refused_before_there_is_room_for_it(tmp_path, last, body):
    begin = time.process_time()
    said = refusal(usda(tmp_path, head=f" startTimeCode = 1\n endTimeCode = {last}\n", body=body))
    assert f"not between {-LAST_FRAME} and {LAST_FRAME}" in said
    assert time.process_time() - begin < 30.0


def test_no_scene_has_more_frames_than_the_timeline():
    from dataclasses import replace

    spec = plain.card_house(levels=1)
    with pytest.raises(SceneError, match="choose a shorter range"):
        validate(replace(spec, frame_end=LAST_FRAME + 1), Described(spec).settings)
    validate(replace(spec, frame_end=LAST_FRAME), Described(spec).settings)


def document(**changes):
    physics = {"motion": {"mass": 1}, "collider": {"geometry": {"shape": 0}}}
    nodes = [
        {"name": "A", "translation": [0, 2, 0], "extensions": {PHYSICS: physics}},
        {"name": "F", "extensions": {PHYSICS: {"collider": {"geometry": {"shape": 0}}}}},
    ]
    extensions = {SHAPES: {"shapes": [{"type": "box", "box": {"size": [1, 1, 1]}}]}, PHYSICS: {}}
    return BOX | {"nodes": nodes, "extensions": extensions} | changes


def gltf(tmp_path, content):
    file = tmp_path / "top.gltf"
    file.write_text(json.dumps(content), encoding="utf-8", errors="surrogatepass")
    return file


def with_own(**own):
    content = document()
    content["extensions"][PHYSICS]["extras"] = {"stiction": own}
    content["nodes"][1]["extensions"][PHYSICS]["motion"] = {"isKinematic": True}
    return content


def with_node(**changes):
    content = document()
    content["nodes"][0] |= changes
    return content


def with_joint(joint):
    content = document()
    content["extensions"][PHYSICS]["physicsJoints"] = [joint]
    content["nodes"][0]["extensions"][PHYSICS]["joint"] = {"connectedNode": 1, "joint": 0}
    return content


def with_accessor(**accessor):
    data = "data:;base64," + base64.b64encode(bytes(64)).decode()
    whole = {"bufferView": 0, "componentType": 5126, "count": 3, "type": "VEC3"} | accessor
    content = with_node(mesh=0)
    return content | {
        "buffers": [{"byteLength": 64, "uri": data}],
        "bufferViews": [{"buffer": 0, "byteLength": 64}],
        "accessors": [whole],
        "meshes": [{"primitives": [{"attributes": {"POSITION": 0}}]}],
    }


def with_times(*times):
    values = struct.pack(f"<{len(times)}f", *times) + bytes(12 * len(times))
    content = with_own(frame_end=5)
    return content | {
        "buffers": [{"byteLength": len(values), "uri": "data:;base64," + base64.b64encode(values).decode()}],
        "bufferViews": [
            {"buffer": 0, "byteLength": 4 * len(times)},
            {"buffer": 0, "byteOffset": 4 * len(times), "byteLength": 12 * len(times)},
        ],
        "accessors": [
            {"bufferView": 0, "componentType": 5126, "count": len(times), "type": "SCALAR"},
            {"bufferView": 1, "componentType": 5126, "count": len(times), "type": "VEC3"},
        ],
        "animations": [
            {
                "samplers": [{"input": 0, "output": 1}],
                "channels": [{"sampler": 0, "target": {"node": 1, "path": "translation"}}],
            }
        ],
    }


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (with_own(gravity="down"), "gravity"),
        (with_own(gravity=[[1], [2, 3]]), "gravity"),
        (with_own(gravity=[1, 2]), "three numbers"),
        (with_own(frame_end=-5), "not a range"),
        (with_own(frame_end=10**9), "not a range"),
        (with_own(frame_end=10**30), "not a range"),
        (with_own(frame_end="last"), "whole number"),
        (with_own(fps=0), "fps"),
        (with_own(fps=math.nan), "fps"),
        (with_own(time_scale=[1]), "time_scale"),
        (with_node(translation=[0, 10**400, 0]), "transform of node 0 cannot be read"),
        (with_node(name="\ud800"), "not text"),
        (with_node(rotation=[0, 0, 0, 0]), "not finite"),
        (with_accessor(count=float("inf")), "Infinity|inf"),
        (with_accessor(count="many"), "many"),
        (with_times(0.0, 1.0, 0.5), "0.5 s after 1 s"),
        (with_times(0.0, 0.0), "0 s after 0 s"),
        (with_joint({"limits": [{"linearAxes": "x", "min": 0, "max": 0}]}), "/A: linearAxes: there is no axis 'x'"),
        (with_joint({"limits": [{"linearAxes": [9], "min": 0, "max": 0}]}), "/A: linearAxes: there is no axis 9"),
        (with_joint({"limits": [{"linearAxes": [-1], "min": 0, "max": 0}]}), "/A: linearAxes: there is no axis -1"),
        (
            with_joint({"limits": [{"linearAxes": [0], "min": 0, "max": 0, "stiffness": "hard"}]}),
            "stiffness and damping must be finite numbers",
        ),
        (with_joint({"drives": [{"type": "linear", "axis": "x"}]}), "/A: drives: there is no axis 'linear' 'x'"),
        (with_joint({"drives": [{"type": "linear", "axis": 3}]}), "/A: drives: there is no axis 'linear' 3"),
        (with_joint({"drives": [{"type": "bent", "axis": 0}]}), "/A: drives: there is no axis 'bent' 0"),
        (with_joint({"drives": [{"type": "linear", "axis": 0, "stiffness": "hard"}]}), "/A: drives: .*finite numbers"),
    ],
)
def test_a_malformed_value_of_a_gltf_file_is_one_sentence(tmp_path, content, words):
    assert re.search(words, refusal(gltf(tmp_path, content)))


@pytest.mark.parametrize(
    "uri", ["/etc/passwd", "../../../etc/passwd", "../beside.bin", "%2e%2e/beside.bin", "sub/../../beside.bin"]
)
def test_a_buffer_outside_of_the_folder_of_the_document_is_refused(tmp_path, uri):
    (tmp_path / "beside.bin").write_bytes(bytes(64))
    (tmp_path / "in").mkdir()
    content = document(buffers=[{"byteLength": 10, "uri": uri}])
    assert "outside of the folder" in refusal(gltf(tmp_path / "in", content))
    (tmp_path / "in" / "sub").mkdir()
    (tmp_path / "in" / "sub" / "a b.bin").write_bytes(bytes(64))
    read(gltf(tmp_path / "in", document(buffers=[{"byteLength": 10, "uri": "sub/a%20b.bin"}])), Found())


def test_every_exception_of_a_reader_becomes_a_sentence_and_those_of_the_system_pass():
    def refused(reason):
        return SceneError(()) if not reason else ValueError(reason)

    for error, words in (
        (OverflowError("too large"), "OverflowError: too large"),
        (RuntimeError(), "RuntimeError"),
        (MemoryError(), "more memory"),
        (UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte"), "UnicodeDecodeError"),
    ):
        with pytest.raises(ValueError, match=words), malformed_refused("file", refused):
            raise error
    for error in (FileNotFoundError("gone"), SceneError(())):
        with pytest.raises(type(error)), malformed_refused("file", refused):
            raise error


@pytest.fixture(scope="module")
def bridge(tmp_path_factory):
    file = tmp_path_factory.mktemp("bridge") / "bridge.usdc"
    write(Described(jointed.drawbridge()), file, Found())
    return file


@pytest.mark.slow
def test_a_scene_that_another_process_has_read_is_the_one_that_this_process_reads(bridge):
    from solver_core.io.snapshot import snapshot_digest

    here_found, there_found = Found(), Found()
    here, there = read_usd_here(bridge, here_found), read(bridge, there_found)
    assert snapshot_digest(here.spec, here.settings) == snapshot_digest(there.spec, there.settings)
    assert here.looks.keys() == there.looks.keys()
    for name, look in here.looks.items():
        other = there.looks[name]
        assert look.colour == other.colour
        assert all(np.array_equal(getattr(look, part), getattr(other, part)) for part in ("points", "counts", "corners"))
    assert here_found.warnings == there_found.warnings


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the limit on memory is enforced on Linux")
def test_a_file_that_takes_more_memory_than_it_may_is_refused(bridge, monkeypatch):
    monkeypatch.setattr(usd_process, "memory_for", lambda file: 2**20)
    with pytest.raises(SceneError, match=r"bridge\.usdc: file: .*memory"):
        read(bridge, Found())


def test_a_reader_that_gives_no_sign_of_life_is_ended(bridge, monkeypatch, tmp_path):
    (tmp_path / "sleeps.py").write_text("import time; time.sleep(600)")
    monkeypatch.setattr(usd_process, "LONGEST_SILENCE", 0.2)
    monkeypatch.setattr(usd_process, "CHILD", tmp_path / "sleeps.py")
    begin = time.monotonic()
    with pytest.raises(SceneError, match=r"bridge\.usdc: file: OpenUSD did not finish"):
        read(bridge, Found())
    assert time.monotonic() - begin < 60.0


@pytest.mark.skipif(sys.platform == "win32", reason="Windows does not count it here")
def test_a_reader_that_works_on_and_on_is_ended_by_its_processor_time(bridge, monkeypatch, tmp_path):
    works = usd_process.CHILD.read_text().replace('    main(asked, Signs(asked["work"]))\n', WORKS)
    (tmp_path / "works.py").write_text(works)
    monkeypatch.setattr(usd_process, "LONGEST_WORK", 1.0)
    monkeypatch.setattr(usd_process, "CHILD", tmp_path / "works.py")
    with pytest.raises(SceneError, match=r"bridge\.usdc: file: .* after 1 s of processor time"):
        read(bridge, Found())


WORKS = """
    signs = Signs(asked["work"])
    while True:
        pass
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_a_reader_that_openusd_aborts_takes_nobody_with_it(bridge, monkeypatch, tmp_path):
    (tmp_path / "aborts.py").write_text("import os, signal; os.kill(os.getpid(), signal.SIGABRT)")
    monkeypatch.setattr(usd_process, "CHILD", tmp_path / "aborts.py")
    with pytest.raises(SceneError, match=r"bridge\.usdc: file: OpenUSD crashed \(SIGABRT\)"):
        read(bridge, Found())


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_the_process_that_reads_ends_with_the_one_that_asks(bridge, tmp_path):
    sleeps = tmp_path / "sleeps.py"
    sleeps.write_text(usd_process.CHILD.read_text().replace('    main(asked, Signs(asked["work"]))\n', "    time.sleep(600)\n"))
    code = (
        "import sys; from pathlib import Path; from solver_core.interchange import usd_process as u; "
        f"u.CHILD = Path({str(sleeps)!r}); u.read_in_process(Path({str(bridge)!r}), None, u.python_command())"
    )
    asking = subprocess.Popen([sys.executable, "-c", code], env=os.environ | {"PYTHONPATH": str(usd_process.PACKAGES)})
    psutil = pytest.importorskip("psutil")
    until = time.monotonic() + 60.0
    while not (children := psutil.Process(asking.pid).children()) and time.monotonic() < until:
        time.sleep(0.1)
    asking.send_signal(signal.SIGKILL)
    asking.wait()
    assert children and not psutil.wait_procs(children, timeout=60.0)[1]


@pytest.fixture(scope="module")
def foreign(tmp_path_factory):
    folder = tmp_path_factory.mktemp("foreign") / "room"
    folder.mkdir()
    return Foreign.made(folder)


@pytest.mark.slow
@pytest.mark.parametrize("kind", sorted(KINDS))
def test_a_damaged_file_of_another_program_is_read_or_refused(kind, foreign):
    for number in range(6):
        try_case(kind, number, foreign, KINDS)


@pytest.mark.slow
def test_a_package_is_read(bridge, tmp_path):
    (tmp_path / "a.usdz").write_bytes(packed(bridge))
    assert read_usd_here(tmp_path / "a.usdz", Found()).spec.bodies
