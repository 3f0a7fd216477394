# SPDX-License-Identifier: GPL-3.0-or-later
"""Files of contact problems keep what they were given, and what is wrong with one is said with what to do."""

from __future__ import annotations

import io
import sys
import zipfile
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

import solver_core as sc
from solver_core.io import fclib, problem_npz
from solver_core.io.contact_problem_files import (
    ProblemFile,
    ProblemFileError,
    read_problem,
    refuse_problem,
    write_problem,
    write_solution,
)
from solver_core.problem.forms import Solution, global_form_of, local_form_of
from solver_core.process.command_line import UsageError
from solver_core.process.plain_files import PathRefused

from ..contact_problems import random_bodies
from ..jointed_problems import GIVING, HELD, random_joined

h5py = pytest.importorskip("h5py")


def local(dim=3, bilateral=0):
    random = np.random.default_rng(dim + bilateral)
    J = random.normal(size=(4 * dim + bilateral, 7))
    G, g = J @ J.T, random.normal(size=4 * dim + bilateral)
    rows = 4 * dim
    W, V, R = G[:rows, :rows], G[:rows, rows:], G[rows:, rows:]
    return sc.LocalForm(W, g[:rows], random.uniform(0.0, 1.0, 4), dim, V, R, g[rows:])


def of_bodies(dim=3, bilateral=0):
    form = global_form_of(random_bodies(3, 6, 3))
    G = np.random.default_rng(1).normal(size=(18, bilateral))
    if dim == 3:
        return replace(form, G=G, b=np.ones(bilateral))
    rows = np.delete(np.arange(18), np.arange(2, 18, 3))
    return sc.GlobalForm(form.M, form.H[:, rows], form.f, form.w[rows], form.mu, 2, G, np.ones(bilateral))


def same(first, second):
    if sparse.issparse(first):
        return first.shape == second.shape and np.array_equal(first.toarray(), second.toarray())
    return np.array_equal(first, second)


@pytest.mark.parametrize("ending", ["npz", "hdf5"])
@pytest.mark.parametrize("dim", [2, 3])
@pytest.mark.parametrize("bilateral", [0, 2])
@pytest.mark.parametrize("make", [local, of_bodies])
def test_a_file_has_what_was_written_bit_for_bit(tmp_path, make, dim, bilateral, ending):
    form = make(dim, bilateral)
    problem = form.problem()
    guess = form.solution(np.ones((form.contacts, dim)), np.zeros(bilateral))
    solution = form.solution(sc.solve(problem).impulse, np.zeros(bilateral))
    written = ProblemFile(form, "a title", "what it is", "unique", (guess, guess), solution)
    path = tmp_path / f"problem.{ending}"
    write_problem(path, written)
    read = read_problem(path)
    assert (read.title, read.description, read.math_info) == ("a title", "what it is", "unique")
    assert all(same(getattr(read.form, name), value) for name, value in vars(form).items())
    for mine, theirs in zip((guess, guess, solution), (*read.guesses, read.solution), strict=True):
        assert all(np.array_equal(getattr(mine, name), getattr(theirs, name)) for name in ("r", "u", "l", "v"))
    assert list(tmp_path.iterdir()) == [path]


def test_bodies_with_joints_are_kept_as_they_are(tmp_path):
    problem = random_joined(1, triples=2, kinds=(HELD,))
    write_problem(tmp_path / "a.npz", ProblemFile(problem))
    read = read_problem(tmp_path / "a.npz").problem()
    for mine, theirs in zip(problem.system, read.system, strict=True):
        assert np.array_equal(mine, theirs)
    assert np.array_equal(sc.solve(problem).impulse, sc.solve(read).impulse)


@pytest.mark.parametrize("nz", ["triplets", "columns", "rows"])
def test_matrices_of_other_writers_are_read_in_all_three_kinds(tmp_path, nz):
    form = of_bodies()
    write_problem(tmp_path / "a.hdf5", ProblemFile(form))
    with h5py.File(tmp_path / "a.hdf5", "r+") as file:
        for name in ("M", "H"):
            group, matrix = file[f"fclib_global/{name}"], getattr(form, name)
            for part in ("p", "i", "x", "nz"):
                del group[part]
            if nz == "triplets":
                entries = matrix.tocoo()
                parts = entries.col, entries.row, entries.data, entries.nnz
            else:
                packed = matrix.tocsc() if nz == "columns" else matrix.tocsr()
                parts = packed.indptr, packed.indices, packed.data, -1 if nz == "columns" else -2
            for part, value in zip(("p", "i", "x", "nz"), parts, strict=True):
                group[part] = np.atleast_1d(value)
    read = read_problem(tmp_path / "a.hdf5").form
    assert same(read.H, form.H) and same(read.M, form.M)


DENSE = "3\n1\n0\n3\n3\n3\t3\n 1.0 0.0 0.0\n 0.0 1.0 0.0\n 0.0 0.0 1.0\n -1.0 0.5 0.0\n 0.25 \n"
BLOCKS = (
    "2\n2\n1\n4\n4\n2\n2\n2\n2\t4\t\n2\t4\t\n3\n2\n0\t1\t2\t\n0\t1\t\n0\n 1.0\n 2.0\n 3.0\n 4.0\n1\n 5.0\n 6.0\n 7.0\n 8.0\n"
    + (" 1.0 2.0 3.0 4.0\n 0.5 0.5\n")
)
COLUMNS = """2\n1\n2\n2\n2\n2\nCSparse Version 3.2.0, Sept 12, 2017.  Copyright (c) Timothy A. Davis, 2006-2016
2-by-2, nzmax: 2 nnz: 2, 1-norm: 4
    col 0 : locations 0 to -1
    col 1 : locations 0 to 1
      0 : 3
      1 : 4
 1.0 2.0\n 0.5\n"""
TRIPLETS = """2\n1\n2\n2\n2\n1\nCSparse Version 3.1.9, May 4, 2016.  Copyright (c) Timothy A. Davis, 2006-2016
triplet: 2-by-2, nzmax: 2 nnz: 2
    0 1 : 3
    1 1 : 4
 1.0 2.0\n 0.5\n"""


@pytest.mark.parametrize(
    ("text", "W"),
    [
        (DENSE, np.eye(3)),
        # entries lie column after column, as Siconos keeps them
        (BLOCKS, [[1, 3, 0, 0], [2, 4, 0, 0], [0, 0, 5, 7], [0, 0, 6, 8]]),
        (COLUMNS, [[0, 3], [0, 4]]),
        (TRIPLETS, [[0, 3], [0, 4]]),
    ],
)
def test_what_siconos_prints_is_read(tmp_path, text, W):
    (tmp_path / "a.dat").write_text(text)
    form = read_problem(tmp_path / "a.dat").form
    assert isinstance(form, sc.LocalForm) and np.array_equal(form.W.toarray(), W)
    assert form.q.size == len(W)


def test_the_global_form_of_siconos_is_read(tmp_path):
    """M, H, q, b, mu; H of four rows and three columns lies column after column."""
    M = "0\n4\n4\n4\t4\n" + "\n".join(" ".join(str(2.0 * (i == j)) for j in range(4)) for i in range(4))
    H = "0\n4\n3\n4\t3\n" + " ".join(str(float(i)) for i in range(12))
    (tmp_path / "a.dat").write_text(f"3\n1\n{M}\n{H}\n1 2 3 4\n5 6 7\n0.5\n")
    form = read_problem(tmp_path / "a.dat").form
    assert isinstance(form, sc.GlobalForm)
    assert np.array_equal(form.H.toarray(), np.arange(12.0).reshape(3, 4).T)
    assert form.f.tolist() == [1, 2, 3, 4] and form.w.tolist() == [5, 6, 7] and form.mu.tolist() == [0.5]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is empty"),
        ("7\n1\n", "the dimension is 7"),
        ("5\n1\n", "rolling friction"),
        (DENSE[: DENSE.index("-1.0")], "the text ends|is left|are left|no whole number"),
        (DENSE[:30], "words are left"),
        (DENSE.replace("0.5", "x"), "no number"),
        (DENSE.replace("0.5", "nan"), r"q\[1\] is nan"),
        (DENSE.replace("0.25", "-1"), None),
        ("3\n1000000000\n0\n3000000000\n3000000000\n3000000000 3000000000\n1.0", "words are left"),
        ("2\n1\n2\n2\n2\n1\nCSparse triplet: 2-by-2, nzmax: 9 nnz: 99999999999\n 0 0 : 1", "words are left"),
        (COLUMNS.replace("      1 : 4", "      7 : 4"), "beyond its 2 rows"),
        (BLOCKS.replace("0\t1\t\n0\n", "0\t9\t\n0\n"), "between 0 and 1"),
    ],
)
def test_text_that_is_damaged_is_refused_by_a_sentence(tmp_path, text, words):
    (tmp_path / "a.dat").write_text(text)
    if words is None:
        with pytest.raises(ValueError, match="negative"):
            read_problem(tmp_path / "a.dat").problem()
        return
    with pytest.raises(ProblemFileError, match=words) as error:
        read_problem(tmp_path / "a.dat")
    assert str(tmp_path / "a.dat") in str(error.value)


@pytest.fixture
def files(tmp_path):
    """One of each kind, npz and HDF5."""
    for path in (tmp_path / "a.npz", tmp_path / "a.hdf5"):
        write_problem(path, ProblemFile(of_bodies(bilateral=1), "t"))
    return tmp_path


@pytest.mark.parametrize("ending", ["npz", "hdf5"])
def test_a_file_that_is_cut_off_anywhere_or_damaged_is_refused(files, ending):
    whole = (files / f"a.{ending}").read_bytes()
    random, path = np.random.default_rng(0), files / f"b.{ending}"
    for end in np.linspace(1, len(whole) - 1, 40).astype(int):
        path.write_bytes(whole[:end])
        with pytest.raises(ProblemFileError, match=r"b\."):
            read_problem(path)
    expected = read_problem(files / f"a.{ending}").form
    for _ in range(150):
        spoiled = bytearray(whole)
        for place in random.integers(0, len(whole), 3):
            spoiled[place] ^= int(random.integers(1, 256))
        path.write_bytes(spoiled)
        try:
            form = read_problem(path).form
            form.problem()
        except ValueError:
            continue
        # of what was changed nothing says so, but for the zip's own sums
        assert ending == "hdf5" or all(same(getattr(form, name), value) for name, value in vars(expected).items())


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda top: top.__delitem__("vectors/f"), "it has no fclib_global/vectors/f"),
        (lambda top: top.__delitem__("H"), "it has no fclib_global/H/m"),
        (lambda top: put(top, "spacedim", [4]), "spacedim must be 2 or 3, not 4"),
        (lambda top: put(top, "M/m", [2**31 - 1]), "declared to be 2147483647 by"),
        (lambda top: put(top, "M/nz", [-7]), "no sparse matrix"),
        (lambda top: put(top, "H/i", np.full(len(top["H/i"]), 99)), "index beyond 0 to 17"),
        (lambda top: put(top, "H/p", np.zeros(3)), "H/p must be 19 numbers that rise"),
        (lambda top: put(top, "vectors/w", np.zeros(4)), "has 6 entries, and 1 are needed|by 18, and"),
        (lambda top: put(top, "vectors/mu", np.full(6, np.nan)), r"mu\[0\] is nan"),
        (lambda top: put(top, "vectors/mu", [b"x"] * 6), "must be numbers"),
        (lambda top: huge(top, "vectors/f"), "is declared as 1000000000000 numbers"),
    ],
)
def test_hdf5_with_something_missing_or_odd_says_what(files, spoil, words):
    with h5py.File(files / "a.hdf5", "r+") as file:
        spoil(file["fclib_global"])
    with pytest.raises(ProblemFileError, match=words):
        read_problem(files / "a.hdf5")


def put(top, name, value):
    del top[name]
    top[name] = np.asarray(value)


def huge(top, name):
    del top[name]
    top.create_dataset(name, shape=(10**12,), chunks=(1000,), dtype="f8")


def test_hdf5_of_something_else_is_told(tmp_path):
    with h5py.File(tmp_path / "a.hdf5", "w") as file:
        file["picture"] = np.zeros(3)
    with pytest.raises(ProblemFileError, match="neither a group fclib_local nor fclib_global"):
        read_problem(tmp_path / "a.hdf5")
    with pytest.raises(PathRefused, match="has no contact problem in it"):
        write_problem(tmp_path / "a.hdf5", ProblemFile(local()))


def arrays_of(problem):
    return dict(np.load(io.BytesIO(problem_npz.written_npz(problem))))


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("body_b", np.array([99] * 6), "body_a, body_b does not go with"),
        ("offset", np.array([0, 6, 3, 18]), "does not go with"),
        ("jacobian_a", np.zeros((6, 3, 2)), "jacobian_a, jacobian_b does not"),
        ("mass", np.zeros(3), "mass does not"),
        ("bias", np.full((6, 3), np.nan), "bias has something in it that is no finite number"),
        ("form", np.array("other"), "its form is 'other'"),
        ("stiction_contact_problem", np.array(99), "version 99 .* update"),
        ("body_a", np.zeros(6), "must be whole numbers"),
        ("slack", None, "it has no array slack"),
        ("bias", np.full((6, 3), 1.0 + 2.0j), "bias"),
    ],
)
def test_npz_whose_arrays_do_not_go_together_never_comes_to_a_kernel(tmp_path, name, value, words):
    arrays = arrays_of(ProblemFile(random_bodies(3, 6, 3)))
    arrays.pop(name)
    if value is not None:
        arrays[name] = value
    np.savez(tmp_path / "a.npz", **arrays)
    with pytest.raises(ProblemFileError, match=words):
        read_problem(tmp_path / "a.npz")


def test_npz_with_a_pickle_or_a_size_that_is_not_there_is_not_read(tmp_path):
    arrays = arrays_of(ProblemFile(local()))
    np.savez(tmp_path / "a.npz", **(arrays | {"q": np.array([print], dtype=object)}))
    with pytest.raises(ProblemFileError, match="array q is declared"):
        read_problem(tmp_path / "a.npz")
    with zipfile.ZipFile(tmp_path / "b.npz", "w") as archive:
        for name, value in arrays.items():
            buffer = io.BytesIO()
            np.save(buffer, value)
            data = buffer.getvalue()
            if name == "q":
                data = data.replace(b"(12,)", b"(99999999999,)", 1)
            archive.writestr(f"{name}.npy", data)
    with pytest.raises(ProblemFileError):
        read_problem(tmp_path / "b.npz")


def test_a_solution_is_put_beside_all_else_that_a_file_has(files):
    with h5py.File(files / "a.hdf5", "r+") as file:
        file["theirs/own"] = np.arange(3)
    source, kept = files / "a.hdf5", read_problem(files / "a.hdf5")
    solution = kept.form.solution(np.ones((6, 3)), np.ones(1))
    for value in (solution, replace(solution, r=2.0 * solution.r)):
        write_solution(source, replace(kept, solution=value), source)
        assert np.array_equal(read_problem(source).solution.r, value.r)
    with h5py.File(source) as file:
        assert file["theirs/own"][2] == 2


@pytest.mark.parametrize("ending", ["npz", "hdf5"])
def test_nothing_but_a_contact_problem_is_written_over(tmp_path, ending):
    path = tmp_path / f"a.{ending}"
    path.write_bytes(b"PK\x03\x04 somebody's" if ending == "npz" else b"somebody's")
    with pytest.raises(PathRefused, match="exists and is not a contact problem"):
        write_problem(path, ProblemFile(local()))
    path.unlink()
    for _ in range(2):
        write_problem(path, ProblemFile(local()))
    with pytest.raises(UsageError, match=r"must end with \.npz, \.hdf5"):
        refuse_problem(tmp_path / "a.dat")


def test_without_h5py_it_is_said_what_to_install(files, monkeypatch):
    monkeypatch.setitem(sys.modules, "h5py", None)
    with pytest.raises(ProblemFileError, match="pip install h5py"):
        read_problem(files / "a.hdf5")
    with pytest.raises(ProblemFileError, match="pip install h5py"):
        refuse_problem(files / "new.hdf5")
    assert read_problem(files / "a.npz").title == "t"


def test_limits_and_motors_have_no_place_in_fclib(tmp_path):
    problem = random_joined(1, triples=2, kinds=(HELD,))
    box = problem.system.box.copy()
    box[0, 0] = [-1.0, 1.0, 0.0]
    problem = replace(problem, system=problem.system._replace(box=box))
    with pytest.raises(ProblemFileError, match="row 0 of joint 0 has a limit or a motor"):
        write_problem(tmp_path / "a.hdf5", ProblemFile(problem))
    assert not list(tmp_path.iterdir())


def test_a_joint_that_gives_way_is_one_of_the_local_form():
    problem = random_joined(1, triples=2, kinds=(GIVING,))
    expected = sc.solve(problem, tolerance=1e-9)
    result = sc.solve(local_form_of(problem).problem(), tolerance=1e-9)
    assert expected.status is result.status is sc.Status.SOLVED
    contacts = problem.system.mu.size
    assert np.allclose(result.velocity, expected.velocity[:contacts], atol=1e-7)
    assert np.allclose(result.bilateral, expected.impulse[contacts:].ravel(), atol=1e-7)


def test_bytes_are_an_fclib_file(tmp_path):
    path = tmp_path / "a.h5"
    path.write_bytes(fclib.written_fclib(ProblemFile(local(), solution=Solution(np.zeros(12), np.zeros(12)))))
    assert fclib.is_fclib(path)
    with h5py.File(path) as file:
        assert sorted(file["fclib_local/W"]) == ["i", "m", "n", "nz", "nzmax", "p", "x"]
        assert file["fclib_local/spacedim"][0] == 3 and file["solution/r"].shape == (12,)


def infinite(path, place):
    write_problem(path, ProblemFile(of_bodies()))
    with h5py.File(path, "r+") as file:
        del file[place]
        file[place] = np.array([np.inf])


@pytest.mark.parametrize("place", ["fclib_global/spacedim", "fclib_global/M/nz", "fclib_global/H/m"])
def test_a_whole_number_that_is_infinite_is_named(tmp_path, place):
    infinite(tmp_path / "a.hdf5", place)
    with pytest.raises(ProblemFileError, match=rf"a\.hdf5: {place} must be one whole number"):
        read_problem(tmp_path / "a.hdf5")


def test_a_matrix_without_sizes_is_named(tmp_path):
    write_problem(tmp_path / "a.npz", ProblemFile(local()))
    with np.load(tmp_path / "a.npz") as archive:
        arrays = {name: archive[name] for name in archive.files}
    for sizes in (np.zeros(0), np.array(3), np.array([1, 2, 3])):
        np.savez(tmp_path / "b.npz", **(arrays | {"W_shape": sizes}))
        with pytest.raises(ProblemFileError, match=r"b\.npz: W_shape must be two whole numbers"):
            read_problem(tmp_path / "b.npz")


@pytest.mark.parametrize("make", [local, of_bodies, lambda: random_bodies(3, 6, 3)])
def test_npz_with_numbers_of_another_kind_is_refused_and_loses_nothing(tmp_path, make):
    """A complex mu was read without its imaginary part, and an index of 2.5 as 2."""
    arrays = arrays_of(ProblemFile(make()))
    numbers = [name for name, value in arrays.items() if value.dtype.kind in "iuf"]
    assert len(numbers) > 10
    for name in numbers:
        value = arrays[name]
        others = [value + 2.0j, value.astype(str)]
        if value.dtype.kind in "iu":
            others.append(value + 0.5)
        for other in others:
            np.savez(tmp_path / "a.npz", **(arrays | {name: other}))
            with pytest.raises(ProblemFileError, match=rf"a\.npz: .*{name.partition('_')[0]}"):
                read_problem(tmp_path / "a.npz")


@pytest.mark.parametrize("place", ["fclib_global/M/i", "fclib_global/H/p"])
def test_an_index_of_hdf5_that_is_no_whole_number_is_named(tmp_path, place):
    write_problem(tmp_path / "a.hdf5", ProblemFile(of_bodies()))
    with h5py.File(tmp_path / "a.hdf5", "r+") as file:
        values = file[place][()] + 0.5
        del file[place]
        file[place] = values
    with pytest.raises(ProblemFileError, match=rf"{place} has an index that is no whole number"):
        read_problem(tmp_path / "a.hdf5")


@pytest.mark.parametrize("old", ["0 1 :", "1 1 :"])
def test_an_index_of_26_digits_is_named(tmp_path, old):
    (tmp_path / "a.dat").write_text(TRIPLETS.replace(old, f"{10**25} 1 :"))
    with pytest.raises(ProblemFileError, match=r"a\.dat: .*18 digits at most"):
        read_problem(tmp_path / "a.dat")


def test_sizes_for_which_there_is_no_memory_are_one_sentence(tmp_path):
    huge = 10**17
    (tmp_path / "a.dat").write_text(f"3\n{huge // 3}\n1\n{huge}\n{huge}\n0 0 0\n0 0\n\n\n")
    with pytest.raises(ProblemFileError, match=r"a\.dat: "):
        read_problem(tmp_path / "a.dat")
