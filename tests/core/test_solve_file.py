# SPDX-License-Identifier: GPL-3.0-or-later
"""A contact problem in a file is solved from the command line, and a bake captures those of its steps as such files."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import solver_core as sc
from solver_core import solve_file, worker
from solver_core.bake.capture_steps import steps_named
from solver_core.dynamics.simulation import Simulation
from solver_core.io.contact_problem_files import ProblemFile, read_problem, write_problem
from solver_core.io.snapshot import read_snapshot
from solver_core.problem.forms import GlobalForm, Solution
from solver_core.process.command_line import UsageError

from .contact_problems import random_stack
from .worker_runs import snapshot

ROOT = Path(__file__).resolve().parents[2]
# a push of 1 m/s downwards and 1 m/s along the ground, friction 0.5: half of it is left
SLIDES = "3\n1\n0\n3\n3\n3 3\n 1 0 0\n 0 1 0\n 0 0 1\n -1 1 0\n 0.5\n"


@pytest.fixture
def solved(capsys):
    def run(*arguments):
        status = solve_file.main([str(argument) for argument in arguments])
        said = capsys.readouterr()
        return status, said.out, said.err

    return run


def test_what_is_said_is_how_it_ended_and_how_far_off_the_law_it_is(solved, tmp_path):
    (tmp_path / "a.dat").write_text(SLIDES)
    for method in ("staggered", "pivot", "energy"):
        status, out, err = solved(
            tmp_path / "a.dat", "--method", method, "--tolerance", "1e-9", "-o", tmp_path / f"{method}.npz"
        )
        assert (status, err) == (0, "")
        assert "1 contacts in 3 dimensions, local form" in out and "status: SOLVED" in out
        assert all(f"{name}: " in out for name in ("penetration", "cone", "natural_map", "iterations"))
        solution = read_problem(tmp_path / f"{method}.npz").solution
        assert solution is not None
        assert np.allclose(solution.r, [1.0, -0.5, 0.0]) and np.allclose(solution.u, [0.0, 0.5, 0.0])


def test_a_matrix_of_few_digits_is_mended_and_said_with_its_figures_or_refused(solved, tmp_path):
    G, g, mu = random_stack(np.random.default_rng(4), 3)
    write_problem(tmp_path / "a.npz", ProblemFile(sc.LocalForm(np.vectorize(lambda x: float(f"{x:.5e}"))(G), g, mu)))
    status, out, _ = solved(tmp_path / "a.npz", "--tolerance", "1e-8")
    assert status == 0 and "repaired: asymmetry" in out and "negative eigenvalues" in out
    status, _, err = solved(tmp_path / "a.npz", "--rounding", "refuse")
    assert status == 2 and "rounding='repair' repairs it" in err


def test_what_is_not_solved_ends_with_3_and_is_written_with_what_was_found(solved, tmp_path):
    rng = np.random.default_rng(2)
    G, g, mu = random_stack(rng, 3)
    write_problem(tmp_path / "a.npz", ProblemFile(sc.LocalForm(G, g, mu)))
    status, out, _ = solved(tmp_path / "a.npz", "--tolerance", "1e-15", "--max-iterations", "1", "-o", tmp_path / "b.npz")
    assert status == 3 and "status: SOLVED" not in out
    assert read_problem(tmp_path / "b.npz").solution is not None


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nothing.npz"], "No such file"),
        (["a.dat", "--method", "siconos"], "invalid choice"),
        (["a.dat", "--tolerance", "0"], "tolerance must be a positive number"),
        (["a.dat", "-o", "b.txt"], "must end with .npz, .hdf5"),
        (["a.dat", "-o", "no/where.npz"], "there is no folder"),
        (["a.dat", "--method", "lemke"], "friction"),
        (["cut.dat"], "cut off"),
        ([], "required"),
    ],
)
def test_bad_input_is_status_2_and_a_sentence(solved, tmp_path, monkeypatch, arguments, words):
    monkeypatch.chdir(tmp_path)
    Path("a.dat").write_text(SLIDES)
    Path("cut.dat").write_text(SLIDES[:20])
    status, _, err = solved(*arguments)
    assert status == 2 and words in err and "Traceback" not in err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.dat", "cut.dat"]


def test_a_guess_in_the_file_is_begun_with(solved, tmp_path):
    G, g, mu = random_stack(np.random.default_rng(3), 3)
    form = sc.LocalForm(G, g, mu)
    impulse = sc.solve(form.problem(), tolerance=1e-10).impulse
    guess = Solution(impulse.ravel(), np.zeros(g.size))
    write_problem(tmp_path / "a.npz", ProblemFile(form, guesses=(guess,)))
    assert "found by start" in solved(tmp_path / "a.npz", "--guess")[1]


@pytest.mark.slow
def test_it_is_a_program_that_needs_no_blender(tmp_path):
    (tmp_path / "a.dat").write_text(SLIDES)
    command = [sys.executable, "-m", "solver_core.solve_file", str(tmp_path / "a.dat")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "status: SOLVED" in done.stdout


@pytest.mark.parametrize("ending", ["npz", "hdf5"])
def test_a_bake_captures_the_problems_of_the_steps_asked_for(tmp_path, capsys, ending):
    if ending == "hdf5":
        pytest.importorskip("h5py")
    file, folder = snapshot(tmp_path), tmp_path / "captured"
    assert worker.main([file, str(tmp_path / "plain.cache")]) == 0
    options = ["--capture", str(folder), "--capture-steps", "12:14", "--capture-format", ending]
    assert worker.main([file, str(tmp_path / "a.cache"), *options]) == 0
    steps = {path.name.split("-")[0] for path in folder.iterdir()}
    assert steps == {"step000012", "step000013", "step000014"}
    # to be watched changes nothing
    assert (tmp_path / "a.cache").stat().st_size == (tmp_path / "plain.cache").stat().st_size
    for path in sorted(folder.iterdir()):
        captured = read_problem(path)
        assert isinstance(captured.form, GlobalForm) == (ending == "hdf5")
        problem = captured.problem()
        assert problem.contacts > 0 and len(captured.guesses) == 1
        assert sc.solve(problem, tolerance=1e-8).status is sc.Status.SOLVED
    capsys.readouterr()
    assert worker.main([file, str(tmp_path / "b.cache"), *options]) == 2
    said = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert "has captured problems, as step000012-1" in said[-1]["message"]


def test_a_simulation_shows_its_problems_in_the_order_of_time(tmp_path):
    spec, settings = read_snapshot(snapshot(tmp_path))
    seen = []
    Simulation(spec, settings, see=lambda step, system, impulse: seen.append((step, len(system.mu), len(impulse)))).run(2)
    assert [step for step, *_ in seen] == sorted(step for step, *_ in seen)
    assert {step for step, *_ in seen} <= set(range(2 * settings.substeps))
    assert all(contacts == impulses for _, contacts, impulses in seen)


@pytest.mark.parametrize("text", ["", "a", "5:", ":5", "9:3", "1:2:3", "-1"])
def test_steps_that_are_none_are_refused(text):
    with pytest.raises(UsageError, match="--capture-steps"):
        steps_named(text)
    assert list(steps_named("3")) == [3] and list(steps_named("3:5")) == [3, 4, 5]
