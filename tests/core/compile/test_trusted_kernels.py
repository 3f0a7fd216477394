# SPDX-License-Identifier: GPL-3.0-or-later
"""Compiled kernels are code: they are read only where nobody else could have put them."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
from pathlib import Path

import numba
import pytest

from solver_core.compile import ahead, trust
from solver_core.compile.trust import doubt, written_by_us_alone
from solver_core.compile_all import __main__ as command
from solver_core.process.ending import Ending

from ..worker_runs import snapshot

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there are neither owners nor modes")

ROOT = Path(__file__).resolve().parents[3]
A_STRANGER = 54321


@pytest.fixture(autouse=True)
def fresh():
    doubt.cache_clear()
    trust.trusted.cache_clear()


@pytest.fixture
def kernels(tmp_path):
    """A folder as one that is shared should be."""
    folder = tmp_path / "farm" / "kernels" / "vec3-0123"
    folder.mkdir(parents=True)
    for one in (folder / "dot.nbi", folder / "dot.1.nbc", folder.parent / "compiled.json"):
        one.write_bytes(b"")
    for one in (tmp_path / "farm").rglob("*"):
        one.chmod(0o755)
    (tmp_path / "farm").chmod(0o755)
    return folder.parent


def test_a_folder_that_only_its_owner_writes_to_is_taken(kernels):
    assert doubt(kernels) is None
    assert doubt(kernels / "not" / "yet" / "there") is None


@pytest.mark.parametrize("where", [".", "vec3-0123", "vec3-0123/dot.nbi", "vec3-0123/dot.1.nbc", "compiled.json", ".."])
@pytest.mark.parametrize("mode", [0o777, 0o757, 0o772])
def test_one_that_anybody_may_write_to_at_any_place_is_not(kernels, where, mode):
    (kernels / where).chmod(mode)
    why = doubt(kernels)
    assert why is not None and "may write to" in why and str((kernels / where).resolve()) in why


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root gives files away")
@pytest.mark.parametrize("where", [".", "vec3-0123", "vec3-0123/dot.nbi", ".."])
def test_nor_is_one_that_a_stranger_owns(kernels, where, monkeypatch):
    os.chown(kernels / where, A_STRANGER, -1)
    assert f"belongs to user {A_STRANGER}" in (doubt(kernels) or "")
    # but who owns the package has us run what he likes anyway
    monkeypatch.setattr(trust, "trusted", lambda: {0, A_STRANGER})
    doubt.cache_clear()
    assert doubt(kernels) is None


def test_nor_one_with_a_link_in_it(kernels):
    (kernels / "rotation-0123").symlink_to(kernels / "vec3-0123")
    assert "is a link" in (doubt(kernels) or "")


def test_a_link_to_a_folder_is_judged_by_where_it_leads(kernels):
    link = kernels.parent / "link"
    link.symlink_to(kernels)
    assert doubt(link) is None
    (kernels / "vec3-0123").chmod(0o777)
    doubt.cache_clear()
    assert doubt(link) is not None


def test_in_a_folder_like_tmp_ones_own_is_ones_own(kernels):
    kernels.parent.chmod(0o1777)
    assert doubt(kernels) is None and doubt(kernels.parent / "new") is None
    assert doubt(kernels.parent) is not None


@pytest.mark.parametrize(("group", "members", "fine"), [("root", [], True), ("root", ["eve"], False), ("users", [], False)])
def test_a_group_of_ones_own_is_no_other(kernels, monkeypatch, group, members, fine):
    import grp

    monkeypatch.setattr(trust, "name_of", lambda _user: "root")
    monkeypatch.setattr(grp, "getgrgid", lambda number: grp.struct_group((group, "x", number, members)))
    (kernels / "vec3-0123").chmod(0o775)
    assert (doubt(kernels) is None) == fine


def test_what_is_written_is_the_users_alone(tmp_path):
    before = os.umask(0)
    try:
        with written_by_us_alone():
            (tmp_path / "a").mkdir()
            (tmp_path / "b").touch()
        (tmp_path / "c").touch()
    finally:
        os.umask(before)
    assert [(tmp_path / name).stat().st_mode & 0o777 for name in "abc"] == [0o755, 0o644, 0o666]


def test_kernels_are_not_copied_from_a_folder_that_is_doubted(kernels, tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(kernels))
    monkeypatch.setattr(ahead, "misfit", lambda _folder: None)
    monkeypatch.setattr(ahead, "SHIPPED", tmp_path / "none")
    theirs, own = kernels / "vec3-0123" / "vec3.dot-1.py311.nbi", tmp_path / "own" / "vec3-0123"
    theirs.touch(mode=0o755)
    own.mkdir(parents=True)
    for mode, there in ((0o777, False), (0o755, True)):
        doubt.cache_clear()
        (kernels / "vec3-0123").chmod(mode)
        ahead.bring(own, "dot-1")
        assert (own / theirs.name).exists() == there


def test_nothing_is_compiled_into_a_folder_that_is_doubted(kernels, capsys):
    kernels.chmod(0o777)
    assert command.main([str(kernels)], Ending()) == 2
    assert "everybody may write to" in capsys.readouterr().err


class Attack:
    """What a pickle can do."""

    def __init__(self, made):
        self.made = made

    def __reduce__(self):
        return os.mkdir, (str(self.made),)


# All of a worker up to where it would bake; the index of a kernel is in the folder, by the name that numba looks for.
LOAD = """
import sys
from solver_core.linalg import vec3
kernel = next(one for one in vars(vec3).values() if hasattr(one, "keep_under_key"))
cache = kernel.keep_under_key(kernel)._cache_file
if sys.argv[1] == "where":
    print(cache._index_path)
else:
    cache.load("no such types")
"""


@pytest.mark.parametrize(("mode", "runs"), [(0o777, False), (0o755, True)])
def test_a_pickle_of_somebody_elses_is_not_read(tmp_path, mode, runs):
    """The second shows that it would be."""
    folder, made = tmp_path / "kernels", tmp_path / "made"
    environment = os.environ | {"NUMBA_CACHE_DIR": str(folder), "XDG_CACHE_HOME": str(tmp_path / "own"), "HOME": str(tmp_path)}

    def load(how):
        code = [sys.executable, "-c", LOAD, how]
        return subprocess.run(code, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)

    index = Path(load("where").stdout.strip())
    assert index.is_relative_to(folder)
    index.write_bytes(pickle.dumps(numba.__version__) + pickle.dumps(Attack(made)))
    folder.chmod(mode)
    load("read")
    assert made.exists() == runs


@pytest.mark.slow
def test_a_worker_says_why_a_shared_folder_is_not_used(tmp_path):
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    environment = os.environ | {"NUMBA_CACHE_DIR": str(shared), "XDG_CACHE_HOME": str(tmp_path / "own")}
    run = [sys.executable, "-m", "solver_core.worker", snapshot(tmp_path), str(tmp_path / "cache")]
    process = subprocess.Popen(run, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    first = json.loads(process.stdout.readline())
    process.kill()
    process.communicate()
    assert first["event"] == "compiling" and "everybody may write to" in first["unfit"]
