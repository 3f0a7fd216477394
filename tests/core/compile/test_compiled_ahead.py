# SPDX-License-Identifier: GPL-3.0-or-later
"""Kernels that were compiled ahead are used where they fit and nowhere else, and all that a bake needs is among them."""

from __future__ import annotations

import json
import os
import queue
import re
import shutil
import subprocess
import sys
import tarfile
import threading
import time
import tomllib
from pathlib import Path

import pytest
from numba.core import event

from solver_core.compile import ahead, kernel, process, watch
from solver_core.compile.folders import kernel_folder
from solver_core.compile.kernel_lock import in_turn
from solver_core.compile.processor import V2, V3, level_of
from solver_core.compile.stock import Stock, read_keys, write_keys
from solver_core.compile_all import __main__ as command
from solver_core.compile_all import rehearsal
from solver_core.process.ending import Ending, StopAsked
from solver_core.process.file_lock import FileLock

ROOT = Path(__file__).resolve().parents[3]

# A kernel is called; prints what it was compiled for or loaded from, and why those compiled ahead are not used.
CALL = """
import json, sys
from pathlib import Path
from solver_core.compile import ahead, folders
ahead.SHIPPED = Path(sys.argv[1])
if sys.argv[2] == "read only":
    folders.can_be_written = lambda folder: False
used = folders.folder_of_kernels()
import numpy as np
from solver_core.dynamics.motion.rotation import write_matrix
write_matrix(np.array([1.0, 0.0, 0.0, 0.0]), out := np.empty((3, 3)))
assert (out == np.eye(3)).all()
loaded = sum(write_matrix.stats.cache_hits.values())
print(json.dumps([loaded, str(used), ahead.misfit(ahead.SHIPPED)]))
if sys.argv[2] == "ahead":
    ahead.say_what_for(used, "of a test")
"""


# Prints the kernels that a bake has numba load or compile for Python, but for those that these call.
LOADED = """
from numba.core.dispatcher import Dispatcher
from solver_core.scenes import arch, card_house
from solver_core.dynamics.simulation import Simulation
compiled, depth, plain = [], [], Dispatcher.compile
def compile(dispatcher, signature):
    if not depth:
        function = dispatcher.py_func
        compiled.append(f"{function.__module__.rpartition('.')[2]}.{function.__name__}")
    depth.append(1)
    try:
        return plain(dispatcher, signature)
    finally:
        depth.pop()
Dispatcher.compile = compile
for spec, method in ((card_house(2), "staggered"), (arch(), "pivot")):
    Simulation(spec, method=method, substeps=2).run(2)
print(*compiled)
"""


@pytest.fixture
def call(tmp_path):
    """Calls a kernel in a process of its own: whether it was loaded, where kernels are kept, why those brought are not used."""

    def run(cache: Path, shipped: Path, how: str = ""):
        environment = os.environ | {"NUMBA_CACHE_DIR": str(cache), "XDG_CACHE_HOME": str(tmp_path / "own")}
        for place in ("LOCALAPPDATA", "HOME"):
            environment[place] = str(tmp_path / "own")
        code = [sys.executable, "-c", CALL, str(shipped), how]
        done = subprocess.run(code, env=environment, cwd=ROOT, capture_output=True, text=True, check=True)
        return json.loads(done.stdout)

    return run


@pytest.fixture
def packed(made, tmp_path):
    """The same as a package brings it: each file's kernels packed."""
    shipped = tmp_path / "packed"
    shipped.mkdir()
    shutil.copyfile(made / ahead.MADE_FOR, shipped / ahead.MADE_FOR)
    for folder in {path.parent for path in made.rglob("*.nbc")}:
        ahead.pack(folder, ["write_matrix-*"], shipped)
    return shipped


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder in which that kernel was compiled ahead."""
    folder = tmp_path_factory.mktemp("ahead")
    code = [sys.executable, "-c", CALL, str(folder / "none"), "ahead"]
    subprocess.run(code, env=os.environ | {"NUMBA_CACHE_DIR": str(folder)}, cwd=ROOT, check=True, capture_output=True)
    return folder


def test_what_the_package_brings_is_not_compiled_again(call, packed, tmp_path):
    before = sorted(packed.rglob("*"))
    assert call(tmp_path / "cache", packed)[0] == 1
    assert sorted(packed.rglob("*")) == before


@pytest.mark.slow
def test_a_farm_folder_that_cannot_be_written_to_is_copied_from(call, made, tmp_path):
    loaded, used, _ = call(made, tmp_path / "nothing", "read only")
    assert loaded == 1 and Path(used).is_relative_to(tmp_path / "own")


@pytest.mark.parametrize("what", ["Python", "numba", "llvmlite", "numpy", "system", "processor"])
def test_kernels_of_another_kind_are_left_alone(made, tmp_path, what):
    theirs = json.loads((made / ahead.MADE_FOR).read_text())
    (tmp_path / ahead.MADE_FOR).write_text(json.dumps(theirs | {what: "another"}))
    assert f"for {what} another" in (ahead.misfit(tmp_path) or "")


@pytest.mark.slow
def test_those_that_do_not_fit_are_compiled_anew_and_the_reason_is_told(call, made, tmp_path):
    other = tmp_path / "other"
    subprocess.run([sys.executable, "-c", "import shutil, sys; shutil.copytree(*sys.argv[1:])", made, other], check=True)
    text = (other / ahead.MADE_FOR).read_text()
    (other / ahead.MADE_FOR).write_text(text.replace('"numpy": "', '"numpy": "9'))
    loaded, _, why = call(tmp_path / "cache", other)
    assert loaded == 0 and "for numpy 9" in why


def brought(folder, kernel):
    """Have a kernel from what the package brings; the names of the files that the folder then has."""
    folder.mkdir(exist_ok=True)
    ahead.bring(folder, kernel)
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture(params=["packed", "plain"])
def two(request, made, packed, tmp_path, monkeypatch):
    """A folder for the kernels of a file, of which two, `write_matrix` and `other`, are compiled ahead."""
    shipped = packed if request.param == "packed" else tmp_path / "plain"
    if request.param == "plain":
        shutil.copytree(made, shipped)
    source = next(path.parent for path in made.rglob("*.nbc"))
    whole = tmp_path / "whole" / source.name
    shutil.copytree(source, whole)
    for path in list(whole.glob("*.nb?")):
        shutil.copyfile(path, path.with_name(path.name.replace("write_matrix-", "other-")))
    if request.param == "packed":
        ahead.pack(whole, ["write_matrix-*", "other-*"], shipped)
    else:
        shutil.copytree(whole, shipped / source.name, dirs_exist_ok=True)
    monkeypatch.setattr(ahead, "SHIPPED", shipped)
    return tmp_path / source.name


def keyed(folder_of_kernels, name):
    """A kernel as its files are named after it: with its key."""
    file = next(folder_of_kernels.rglob(f"*.{name}-*.nbi"))
    return file.name.split(".")[1]


def test_only_the_kernel_that_is_called_is_brought(two, made):
    called = keyed(made, "write_matrix")
    files = brought(two, called)
    assert len(files) == 2 and all(f".{called}." in file for file in files)
    ahead.bring(two, called.replace("write_matrix", "other"))
    assert len(list(two.iterdir())) == 4
    for file in two.glob("*write_matrix*"):
        assert file.read_bytes() == next(made.rglob(file.name)).read_bytes()


def test_a_kernel_whose_name_begins_alike_or_that_is_not_there_is_not_brought(two, made):
    name, _, key = keyed(made, "write_matrix").rpartition("-")
    for another in (f"{name}-{key[:-1]}", f"matrix-{key}", f"{name}-{key}0", "nothing-1"):
        assert brought(two, another) == []


def test_a_kernel_that_is_there_stays_as_it_is(two, made):
    called = keyed(made, "write_matrix")
    two.mkdir()
    index = next(made.rglob(f"*.{called}.*.nbi")).name
    (two / index).write_bytes(b"theirs")
    assert brought(two, called) == [index] and (two / index).read_bytes() == b"theirs"


def test_only_kernels_that_are_named_are_packed(made, tmp_path):
    (folder,) = {path.parent for path in made.rglob("*.nbc") if "write_matrix" in path.name}
    (folder / "leftover.lock").touch()
    called = keyed(made, "write_matrix")
    for names, there in (([called, "rows-1"], {"write_matrix"}), (["write_matrix-0", called[1:]], set())):
        into = tmp_path / f"packed-{len(there)}"
        into.mkdir()
        ahead.pack(folder, names, into)
        assert [path.name for path in into.iterdir()] == [f"{folder.name}.tar.xz"] * bool(there)
        for path in into.iterdir():
            with tarfile.open(path) as archive:
                assert {name.split(".")[1].partition("-")[0] for name in archive.getnames()} == there


def test_all_that_a_bake_loads_is_called_by_python(tmp_path):
    code = [sys.executable, "-c", LOADED]
    loaded = subprocess.run(code, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    assert len(loaded) > 10
    called = re.compile(r"^@kernel\ndef (\w+)", re.MULTILINE)
    sources = (ROOT / "solver_core").rglob("*.py")
    by_python = {f"{path.stem}.{name}" for path in sources for name in called.findall(path.read_text())}
    assert set(loaded) - by_python == set()


def test_an_index_comes_after_the_code_that_it_names(two, made, monkeypatch):
    written = []
    monkeypatch.setattr(ahead, "put", lambda file, content: written.append(file.suffix))
    brought(two, keyed(made, "write_matrix"))
    assert written == [".nbc", ".nbi"]


def test_processors_are_compiled_for_by_published_levels():
    everything = dict.fromkeys([*V3, "avx512f", "sse4a"], True)
    without_fma, old = everything | {"fma": False}, dict.fromkeys(V2, True)
    assert level_of("x86_64", "znver4", everything) == level_of("AMD64", "alderlake", everything) == "x86-64-v3"
    assert level_of("x86_64", "ivybridge", without_fma) == level_of("x86_64", "nehalem", old) == "x86-64-v2"
    assert level_of("x86_64", "core2", {"sse3": True}) is None
    assert level_of("arm64", "apple-m3", {}) == "apple-m1"
    assert level_of("aarch64", "cortex-a72", {}) is None


class FakePart:
    """Stands for the process of a part: counts to its kernels, and notes in which order parts begin."""

    def __init__(self, kernels: int = 3, status: int = 0):
        self.kernels, self.status = kernels, status
        self.began: list[str] = []

    def __call__(self, folder, *arguments, **pipes):
        self.began.append(arguments[1])
        code = f"import sys; print(1); print({self.kernels}); sys.exit({self.status})"
        pipe = subprocess.PIPE
        return subprocess.Popen([sys.executable, "-S", "-c", code], stdin=pipe, stdout=pipe, encoding="utf-8")


@pytest.mark.parametrize("processes", [pytest.param(1, marks=pytest.mark.slow), 3])
def test_parts_are_compiled_after_those_that_they_share_kernels_with(monkeypatch, tmp_path, capsys, processes):
    fake = FakePart()
    monkeypatch.setattr(command, "start", fake)
    assert command.compile_all(tmp_path, processes, Ending()) == 0
    place = {name: i for i, name in enumerate(fake.began)}
    assert sorted(place) == sorted(part.name for part in rehearsal.PARTS)
    assert all(place[before] < place[part.name] for part in rehearsal.PARTS for before in part.after)
    said = capsys.readouterr().out
    assert f"{len(place)} of {len(place)}" in said and "3 kernels" in said
    assert ahead.misfit(tmp_path) is None


def test_a_part_that_fails_fails_the_whole(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(command, "start", FakePart(status=7))
    assert command.compile_all(tmp_path, 2, Ending()) == 1
    assert "status 7" in capsys.readouterr().err and not (tmp_path / ahead.MADE_FOR).exists()


def test_an_end_that_is_asked_for_leaves_no_process(monkeypatch, tmp_path):
    started = []

    def endless(folder, *arguments, **pipes):
        pipe = subprocess.PIPE
        code = "import sys; sys.stdin.read()"
        started.append(subprocess.Popen([sys.executable, "-S", "-c", code], stdin=pipe, stdout=pipe, encoding="utf-8"))
        ending.ask("a test")
        return started[-1]

    ending = Ending()
    monkeypatch.setattr(command, "start", endless)
    with pytest.raises(StopAsked):
        command.compile_all(tmp_path, 1, ending)
    assert [process.poll() for process in started] == [0]


@pytest.mark.parametrize("arguments", [[], ["folder", "--processes", "0"], ["folder", "--bogus"], [__file__]])
def test_bad_usage_is_told_by_the_exit_status(monkeypatch, tmp_path, capsys, arguments):
    monkeypatch.chdir(tmp_path)
    assert command.main(arguments, Ending()) == 2
    assert capsys.readouterr().err


def test_a_bake_has_help_from_its_first_kernel_on_and_until_it_ends(monkeypatch, tmp_path):
    started = []

    def start(folder, *arguments, **pipes):
        started.append(FakePart()(folder, *arguments))
        return started[-1]

    monkeypatch.setattr(watch.os, "cpu_count", lambda: 2)
    monkeypatch.setattr(watch, "start", start)
    with watch.Watch(tmp_path, lambda count: True):
        # one that is only loaded
        with event.trigger_event(watch.LOCK):
            pass
        assert started == []
        for _ in range(3):
            with event.trigger_event(watch.LOCK), event.trigger_event(watch.COMPILE):
                pass
        assert len(started) == 1
    assert started[0].stdin.closed
    started[0].wait(timeout=60)


def test_kernels_of_another_process_count_while_this_one_waits_for_them(monkeypatch, tmp_path):
    """The count stood still for minutes while the second process held the lock of the kernel that the bake needed."""
    monkeypatch.setattr(watch, "SECONDS_BETWEEN_REPORTS", 0.01)
    told, folder = queue.SimpleQueue(), kernel_folder(tmp_path, ROOT / "solver_core" / "linalg" / "vec3.py")
    folder.mkdir(parents=True)

    counted = threading.Event()

    class Seen(Stock):
        @property
        def there(self):
            number = super().there
            counted.set()
            return number

    def tell(count):
        told.put(count)
        return True

    monkeypatch.setattr(watch, "Stock", Seen)
    with watch.Watch(tmp_path, tell):
        with event.trigger_event(watch.LOCK):
            assert counted.wait(60)
            # what is only loaded is not told
            assert told.empty()
            for number in range(watch.FEW_KERNELS):
                (folder / f"vec3.other{number}-1.py311.nbi").touch()
            while (count := told.get(timeout=60)).kernels < watch.FEW_KERNELS:
                assert count.left is None
            assert count.there == watch.FEW_KERNELS and count.left > 0.0 and count.whole == Stock(tmp_path).whole
        time.sleep(0.05)
        while not told.empty():
            told.get()
        time.sleep(0.05)
        assert told.empty(), "it says that it compiles, and does not"


def test_a_process_that_waits_for_the_first_kernel_of_another_one_tells_the_count(monkeypatch, tmp_path):
    """A bake said "Loading" for a minute while another process compiled one kernel, for the count did not grow."""
    monkeypatch.setattr(watch, "SECONDS_BETWEEN_REPORTS", 0.01)
    told: queue.SimpleQueue[watch.Count] = queue.SimpleQueue()
    path, has_it = tmp_path / "kernel", threading.Event()

    def tell(count):
        told.put(count)
        return True

    def wait_for_it():
        with event.trigger_event(watch.LOCK), in_turn(path, set()):
            has_it.set()

    other = FileLock.acquire(path)
    with watch.Watch(tmp_path, tell):
        waiting = threading.Thread(target=wait_for_it)
        waiting.start()
        try:
            assert told.get(timeout=60).kernels == 0 and not has_it.is_set()
        finally:
            other.release()
            waiting.join(timeout=60)
    assert has_it.is_set()


def test_the_kernels_that_a_folder_has_are_counted_of_all_in_the_sources(tmp_path):
    stock = Stock(tmp_path)
    assert stock.there == 0
    texts = [source.read_text() for source in (ROOT / "solver_core").rglob("*.py")]
    # all but the few that no bake imports
    defined = sum(text.count(f"\n@{kind}kernel\ndef ") for text in texts for kind in KINDS)
    assert 0.95 * defined <= stock.whole <= defined
    folder = kernel_folder(tmp_path, ROOT / "solver_core" / "linalg" / "vec3.py")
    folder.mkdir()
    for name in ("vec3.dot-1.py311.nbi", "vec3.dot-1.py311.1.nbc", "vec3.dot-2.py311.nbi", "vec3.add-2.py311.nbi"):
        (folder / name).touch()
    (tmp_path / "vec3-of-another-version").mkdir()
    (tmp_path / "vec3-of-another-version" / "vec3.dot-1.py311.nbi").touch()
    assert stock.there == 2, "a kernel counts once, whatever its key"


def test_kernels_of_former_sources_do_not_count_once_the_keys_of_todays_are_known(tmp_path):
    folder = kernel_folder(tmp_path, ROOT / "solver_core" / "linalg" / "vec3.py")
    folder.mkdir()
    for name in ("dot-1", "add-1", "cross-1"):
        (folder / f"vec3.{name}.py311.nbi").touch()
    stock = Stock(tmp_path)
    assert stock.there == 3 and read_keys(tmp_path) is None
    keys = {folder.name: {"called": ["dot-1"], "inner": ["dot-2", "add-2", "cross-1"]}}
    write_keys(tmp_path, keys)
    assert read_keys(tmp_path) == keys
    assert stock.there == 2
    list_of_keys = next(tmp_path.glob("keys-*.json"))
    list_of_keys.write_text(list_of_keys.read_text().replace('"sources": "', '"sources": "0'))
    assert read_keys(tmp_path) is None and Stock(tmp_path).there == 3


KINDS = ("", "inner_", "leaf_", "inlined_")


def test_a_process_that_compiles_ends_with_the_one_that_started_it(tmp_path):
    part = process.start(tmp_path, "--part", rehearsal.PARTS[0].name, stdout=subprocess.PIPE)
    assert part.stdin is not None
    part.stdin.close()
    assert part.wait(timeout=60) == 1


# All scenes of the package and some more, and a matrix in scipy's order, after the rehearsal: prints the types that kernels
# were called with only then.
NEW_TYPES = """
import sys
from dataclasses import replace
import numpy as np
from numba.core.dispatcher import Dispatcher
from solver_core import scenes
from solver_core.compile_all import rehearsal, small_scenes
from solver_core.dynamics.simulation import Simulation
from solver_core.scenes.jointed import drawbridge
from solver_core.laboratory.lcp import LCP_METHODS, solve_lcp

def bending(young):
    spec = small_scenes.bending()
    laws = [body.deformable and replace(body.deformable, young=young) for body in spec.bodies]
    return replace(spec, bodies=tuple(replace(body, deformable=law) for body, law in zip(spec.bodies, laws, strict=True)))

def kernels():
    modules = [module for name, module in list(sys.modules.items()) if name.startswith("solver_core.")]
    found = {value for module in modules for value in vars(module).values() if isinstance(value, Dispatcher)}
    found |= {one.for_kernels for one in found if hasattr(one, "for_kernels")}
    return {(found.py_func.__qualname__, str(types)) for found in found for types in found.signatures}

for part in rehearsal.PARTS:
    part.run()
rehearsed = kernels()
for scene in (scenes.card_house(2), scenes.arch(), scenes.tower(3), scenes.wall(2, 2), scenes.sliding_box(), scenes.slope(),
              scenes.dropped_cube(0.1, restitution=0.3), scenes.jamming_rod(),
              replace(small_scenes.rounds_on_meshes(), excluded=(("Drum", "Cone"),)), scenes.bridge(planks=4), drawbridge(),
              bending(1e3)):
    for settings in ({}, {"method": "pivot"}, {"max_iterations": 2, "sleeping": False}, {"warm_start": False}):
        Simulation(scene, substeps=3, **settings).run(2)
for method in LCP_METHODS:
    solve_lcp(np.asfortranarray(np.eye(3) + 1.0), -np.ones(3), method)
print(*sorted(kernels() - rehearsed), sep="\\n")
"""


@pytest.mark.long
def test_no_bake_calls_a_kernel_with_types_that_were_not_rehearsed():
    done = subprocess.run([sys.executable, "-c", NEW_TYPES], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


def test_numba_is_leant_on_in_the_versions_that_it_was_tried_with():
    (first, beyond), project = kernel.TESTED, tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert f"numba>={first[0]}.{first[1]},<{beyond[0]}.{beyond[1]}" in project["dependencies"]
    assert kernel.is_tested("0.68.1") and kernel.is_tested("0.68.0rc1")
    assert not any(kernel.is_tested(version) for version in ("0.67.0", "0.69.0dev0", "1.0.0"))


def test_what_kernels_fit_is_the_same_before_any_is_loaded():
    """A process that asked first took the kernels in its package for those of another processor, and compiled all anew."""
    code = "from solver_core.compile.ahead import made_for; first = made_for(); import solver_core.collision.detect; "
    subprocess.run([sys.executable, "-c", code + "assert made_for() == first"], check=True, timeout=120)
