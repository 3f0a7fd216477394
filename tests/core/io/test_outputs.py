# SPDX-License-Identifier: GPL-3.0-or-later
"""No output destroys an input, or anything else that is not an output of the same kind."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from solver_core import certificate, impacts, worker
from solver_core.io.atomic import copy_atomically, write_atomically
from solver_core.io.cache import CacheError
from solver_core.io.outputs import BLEND, PAGE, REPORT, TABLE, refuse_one_for_another, refuse_output, write_output
from solver_core.io.snapshot import write_snapshot
from solver_core.process.command_line import ExitStatus, UsageError
from solver_core.process.plain_files import PathRefused

from ..caches import DIGEST, SETTINGS, SPEC, write, write_contacts

ROOT = Path(__file__).resolve().parents[3]
KINDS = {"report": REPORT, "table": TABLE, "page": PAGE, "blend": BLEND}
POSIX = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such files")


@pytest.fixture
def folder(tmp_path):
    """A folder with a file of every kind that Stiction reads or writes, and some that it does not."""
    write_snapshot(tmp_path / "scene.snapshot", SPEC, SETTINGS)
    write(tmp_path / "scene.cache", 10, 11)
    write_contacts(tmp_path / "kept.cache", 10, 11)
    for name in ("a.json", "a.csv", "a.html"):
        assert certificate.main([str(tmp_path / one) for one in ("scene.snapshot", "scene.cache", name)]) in (0, 3)
    assert impacts.main([str(tmp_path / one) for one in ("scene.snapshot", "kept.cache", "impacts.csv")]) == 0
    contents = {
        "found.json": b'{\n "findings": [\n  {"level": "INFO"}]}',
        "refused.json": b'{\n "version": 1,\n "error": "no",\n "problems": []\n}\n',
        "plain.blend": b"BLENDER-v402RENDH",
        "packed.blend": b"\x28\xb5\x2f\xfd",
        "package.json": b'{\n "name": "x",\n "version": "1.0.0"\n}\n',
        "thesis.txt": b"precious",
        "others.csv": b"name;age\nframe,1\n",
        "index.html": b"<!DOCTYPE html>\n<html lang='en'><head><title>Home</title>",
    }
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
    return tmp_path


@pytest.mark.parametrize("kind", KINDS)
def test_an_output_takes_the_place_of_its_own_kind_and_of_nothing_else(folder, kind):
    own = {
        "report": {"a.json", "found.json", "refused.json"},
        "table": {"a.csv", "impacts.csv"},
        "page": {"a.html"},
        "blend": {"plain.blend", "packed.blend"},
    }
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert len(before) == 15
    written = set()
    for name in before:
        try:
            write_output(folder / name, KINDS[kind], b"new")
            written.add(name)
        except PathRefused as error:
            assert name in str(error) and "left as it is" in str(error)
    assert written == own[kind]
    assert {name: (folder / name).read_bytes() for name in before} == before | dict.fromkeys(own[kind], b"new")


@pytest.mark.parametrize("kind", KINDS)
def test_an_output_is_written_where_nothing_is_or_an_empty_file(tmp_path, kind):
    (tmp_path / "empty").touch()
    for name in ("empty", "new"):
        refuse_output(tmp_path / name, KINDS[kind])
        write_output(tmp_path / name, KINDS[kind], b"x")
        assert (tmp_path / name).read_bytes() == b"x"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["empty", "new"]


def test_a_folder_and_a_folder_that_is_not_there_are_named(tmp_path):
    with pytest.raises(PathRefused, match="is a folder"):
        refuse_output(tmp_path, REPORT)
    with pytest.raises(PathRefused, match=re.escape(f"there is no folder {tmp_path / 'no'}")):
        refuse_output(tmp_path / "no" / "a.json", REPORT)


@POSIX
def test_devices_and_pipes_stay_what_they_are(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", "/dev/full", "/dev/zero"):
        with pytest.raises(PathRefused, match="is no file"):
            write_output(path, REPORT, b"x")
    null = os.stat(os.devnull)
    refuse_output(os.devnull, REPORT)
    write_output(os.devnull, REPORT, b"x")
    (tmp_path / "link").symlink_to(os.devnull)
    write_output(tmp_path / "link", REPORT, b"x")
    now = os.stat(os.devnull)
    assert (now.st_mode, now.st_rdev, now.st_ino) == (null.st_mode, null.st_rdev, null.st_ino)


@POSIX
def test_what_a_link_leads_to_is_looked_at(folder):
    for name in ("thesis.txt", "a.json"):
        (folder / f"link-{name}").symlink_to(folder / name)
    with pytest.raises(PathRefused):
        write_output(folder / "link-thesis.txt", REPORT, b"x")
    write_output(folder / "link-a.json", REPORT, b"x")
    assert (folder / "thesis.txt").read_bytes() == b"precious" and (folder / "a.json").read_bytes() == b"x"
    assert (folder / "link-a.json").is_symlink()


def test_one_file_under_two_names_is_refused_however_it_is_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match="a and b are the same file"):
        refuse_one_for_another((("b", "x.json"), ("c", None), ("a", tmp_path / "." / "x.json")))
    refuse_one_for_another((("a", "x"), ("b", "y"), ("c", os.devnull), ("d", os.devnull)))


@pytest.mark.parametrize(
    "target", ["plain.blend", "scene.snapshot", "scene.cache", "kept.cache", "thesis.txt", "package.json", "."]
)
def test_no_module_writes_over_what_it_was_given_or_anything_else(folder, target, capsys):
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    snapshot, cache, path = (str(folder / name) for name in ("scene.snapshot", "kept.cache", target))
    assert impacts.main([snapshot, cache, path]) == ExitStatus.BAD_INPUT
    assert certificate.main([snapshot, cache, str(folder / "new.json"), path]) == ExitStatus.BAD_INPUT
    for arguments in ([snapshot, str(folder / "new.cache"), "--report", path], [snapshot, cache, "--resume", "--report", path]):
        capsys.readouterr()
        assert worker.main(arguments) == ExitStatus.BAD_INPUT
        assert [json.loads(line)["event"] for line in capsys.readouterr().out.splitlines()] == ["error"]
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_a_cache_is_no_snapshot_and_a_snapshot_no_cache(folder):
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    for resume in (False, True):
        with pytest.raises(CacheError, match="not a frame cache"):
            worker.open_cache(str(folder / "scene.snapshot"), SPEC, SETTINGS, DIGEST, resume=resume)
    with pytest.raises(PathRefused, match="not a scene snapshot"):
        write_snapshot(folder / "scene.cache", SPEC, SETTINGS)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_standard_output_gets_a_certificate_and_a_table(folder):
    for module, cache, begins in (("certificate", "scene.cache", b'{\n "digest"'), ("impacts", "kept.cache", b"time,frame,")):
        command = [sys.executable, "-m", f"solver_core.{module}", str(folder / "scene.snapshot"), str(folder / cache), "-"]
        assert subprocess.run(command, cwd=ROOT, capture_output=True, check=False).stdout.startswith(begins)


def test_standard_output_of_the_worker_has_its_events(folder, capsys):
    assert worker.main([str(folder / "scene.snapshot"), str(folder / "new.cache"), "--report", "-"]) == ExitStatus.BAD_INPUT
    assert "standard output is used for the events" in capsys.readouterr().out and not (folder / "new.cache").exists()


@POSIX
def test_a_link_is_replaced_by_what_is_written_whole_and_its_target_stays(tmp_path):
    (tmp_path / "victim").write_bytes(b"precious")
    for write_it in (lambda path: write_atomically(path, b"new"), lambda path: copy_atomically(tmp_path / "source", path)):
        (tmp_path / "source").write_bytes(b"new")
        (tmp_path / "link").unlink(missing_ok=True)
        (tmp_path / "link").symlink_to(tmp_path / "victim")
        write_it(tmp_path / "link")
        assert (tmp_path / "link").read_bytes() == b"new" and not (tmp_path / "link").is_symlink()
        assert (tmp_path / "victim").read_bytes() == b"precious"


def test_no_temporary_file_is_written_through_a_name_that_is_taken(tmp_path, monkeypatch):
    """Even where it can be guessed."""
    monkeypatch.setattr("secrets.token_hex", lambda _size: "guessed")
    taken = tmp_path / ".r.json.guessed.tmp"
    if sys.platform == "win32":
        taken.write_bytes(b"precious")
    else:
        (tmp_path / "victim").write_bytes(b"precious")
        taken.symlink_to(tmp_path / "victim")
    with pytest.raises(FileExistsError):
        write_atomically(tmp_path / "r.json", b"ATTACK")
    assert taken.read_bytes() == b"precious" and not (tmp_path / "r.json").exists()


def test_a_name_as_long_as_a_file_may_have_is_written(tmp_path):
    write_atomically(tmp_path / ("n" * 250 + ".json"), b"x")
    assert len(list(tmp_path.iterdir())) == 1
