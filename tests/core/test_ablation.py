# SPDX-License-Identifier: GPL-3.0-or-later
"""The edits that switch mechanisms off fit the sources, and what a mechanism pays goes by the rule of CONTRIBUTING.md."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import solver_core

from ..bench.ablation import cell, paid
from ..bench.ablation_mechanisms import MECHANISMS, Edit, Mechanism, edited
from ..bench.ablation_scenes import CAPTURED, SCENES, run_once

PACKAGE = Path(solver_core.__file__).parent
SOME = Mechanism(())


@pytest.mark.parametrize("name", MECHANISMS)
def test_each_mechanism_can_be_switched_off(name):
    mechanism = MECHANISMS[name]
    texts = edited(PACKAGE, mechanism)
    assert set(texts) == {edit.file for edit in mechanism.edits}
    for file, text in texts.items():
        before = ast.parse((PACKAGE / file).read_text(encoding="utf-8"))
        assert ast.dump(ast.parse(text)) != ast.dump(before), file


def test_scenes_of_a_mechanism_exist():
    assert {scene for mechanism in MECHANISMS.values() for scene in mechanism.scenes} <= {*CAPTURED, *SCENES}


@pytest.mark.slow
def test_a_scene_can_be_measured():
    found = run_once("tower", None, 60.0)
    assert (found["number"], found["missed"], found["over"]) == (240, 0, False)


@pytest.mark.parametrize(("text", "times"), [("a = 1\n", 0), ("a = 2\na = 2\n", 2)])
def test_an_edit_that_does_not_fit_is_named(tmp_path, text, times):
    (tmp_path / "some.py").write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=rf"some\.py has {times} times, not once: 'a = 2'"):
        edited(tmp_path, Mechanism((Edit("some.py", "a = 2", "a = 3"),)))


def test_edits_of_one_file_follow_each_other(tmp_path):
    (tmp_path / "some.py").write_text("a = 1\nb = 2\n", encoding="utf-8")
    both = Edit("some.py", "a = 1", "a = 3"), Edit("some.py", "b = 2", "b = 4")
    assert edited(tmp_path, Mechanism(both)) == {"some.py": "a = 3\nb = 4\n"}


def measure(seconds=(1.5, 1.0, 1.02), factorisations=100, missed=0, number=640, bits="some", over=False):
    figures = {"factorisations": factorisations, "missed": missed, "number": number, "overlap": 0.0}
    return {"seconds": list(seconds), "bits": bits, "over": over} | figures


SCENE, PROBLEMS = next(iter(SCENES)), next(iter(CAPTURED))


@pytest.mark.parametrize(
    ("scene", "without", "pays"),
    [
        (SCENE, measure(bits="other", missed=1), True),
        (PROBLEMS, measure(bits="other", missed=3), False),
        (PROBLEMS, measure(bits="other", missed=4), True),
        (SCENE, measure((1.06, 1.2), bits="other"), True),
        (SCENE, measure((1.04, 1.2), bits="other"), False),
        (SCENE, measure((0.9, 1.2), factorisations=300, bits="other"), False),
        (SCENE, measure((1.2,), bits="other", over=True), True),
        # whose motion is the same to the last bit has done nothing there: the machine was busier
        (SCENE, measure((1.2, 1.2)), False),
    ],
)
def test_what_pays_is_a_problem_in_200_a_step_or_a_twentieth_of_the_time(scene, without, pays):
    assert bool(paid(scene, without, measure(), SOME)) == pays


def test_what_was_run_in_turns_goes_by_their_median():
    assert not paid(SCENE, measure((1.2, 1.2), bits="other") | {"turns": [1.3, 1.01, 0.9]}, measure(), SOME)
    assert paid(SCENE, measure((1.0, 1.0), bits="other") | {"turns": [1.3, 1.06, 0.9]}, measure(), SOME)


def test_what_keeps_all_bits_is_paid_by_time_alone():
    assert paid(SCENE, measure((1.2, 1.2)), measure(), Mechanism((), keeps_bits=True))


def test_a_cell_says_time_factorisations_and_what_is_missed_beside_those_with_the_mechanism():
    assert cell(measure((1.5, 1.2), 110, 2, bits="other"), measure(), SOME) == "1.20 / 1.10 / +2"
    assert cell(measure((2.0,), 110, bits="other", over=True), measure(), SOME) == ">2.00 / 1.10 / 0"
    assert cell(measure((2.0, 2.0)), measure(), SOME) == "="
    assert cell(None, measure(), SOME) == ""
