# SPDX-License-Identifier: GPL-3.0-or-later
"""The tables of the documents are those of the benchmarks' files, and the pages are short."""

from __future__ import annotations

import csv
import re
import shutil

import pytest

from ..bench.csv_tables import PROVENANCE, page_with_tables, shown
from ..bench.tables import FILES, PAGES, TABLES

CSV = sorted(FILES.glob("*.csv"))
MOST_WORDS, MOST_LINES_OF_README = 3000, 110


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_has_the_tables_of_the_files(page):
    text = page.read_text(encoding="utf-8")
    assert page_with_tables(text, TABLES, FILES) == text, "run make figures"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_figure_that_is_changed_in_a_file_is_missed_in_the_page(page, tmp_path):
    folder = shutil.copytree(FILES, tmp_path / "measured")
    text = page.read_text(encoding="utf-8")
    for name in re.findall(r"<!--table (\w+)-->", text):
        path = folder / f"{TABLES[name].file or name}.csv"
        before = path.read_text(encoding="utf-8")
        path.write_text(before.replace(before.splitlines()[1].split(",")[0], "1999-12-31T00:00:00+00:00"), encoding="utf-8")
        assert page_with_tables(text, TABLES, folder) != text, name
        path.write_text(before, encoding="utf-8")


def test_each_file_and_each_layout_has_one_table():
    named = [name for page in PAGES for name in re.findall(r"<!--table (\w+)-->", page.read_text(encoding="utf-8"))]
    assert sorted(named) == sorted(TABLES)
    assert {TABLES[name].file or name for name in named} == {path.stem for path in CSV}


@pytest.mark.parametrize("path", CSV, ids=lambda path: path.stem)
def test_every_row_has_where_it_comes_from(path):
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert rows
    for row in rows:
        assert all(row[name] for name in PROVENANCE)
        assert re.fullmatch(r"[0-9a-f]{40}", row["commit"])
        assert row["changed"] != "True", "measured with changes that no commit has"
        assert row["machine"] in PAGES[1].read_text(encoding="utf-8"), "the introduction names the machines"


@pytest.mark.parametrize(
    ("name", "wrong", "said"),
    [
        ("nothing", "", "no table is called nothing"),
        ("sizes", "machine", "line 2: no machine"),
        ("sizes", "file", "is missing"),
        ("sizes", "column", "no column 'size'"),
    ],
)
def test_what_a_table_lacks_is_named(tmp_path, name, wrong, said):
    folder = shutil.copytree(FILES, tmp_path / "measured")
    path = folder / "sizes.csv"
    if wrong == "machine":
        path.write_text(re.sub(r'"Linux[^"]*"', "", path.read_text(encoding="utf-8")), encoding="utf-8")
    if wrong == "column":
        path.write_text(path.read_text(encoding="utf-8").replace(",size", ",length", 1), encoding="utf-8")
    if wrong == "file":
        path.unlink()
    with pytest.raises(SystemExit, match=said):
        page_with_tables(f"<!--table {name}-->\n<!--end-->", TABLES, folder)


def test_figures_have_the_digits_that_count():
    figures = {
        0.0: "0",
        1234.5: "1,234",
        12.34: "12",
        1.26: "1.3",
        0.0123: "0.012",
        -2.345e-7: "-2.3e-7",
        1e-6: "1e-6",
        7500.0: "7,500",
    }
    assert {value: shown(value) for value in figures} == figures
    assert shown(1.54321, 3) == "1.54"


def test_readme_and_figures_are_short():
    readme, *figures = (page.read_text(encoding="utf-8") for page in PAGES)
    assert len(readme.splitlines()) <= MOST_LINES_OF_README
    assert figures and all(len(page.split()) <= MOST_WORDS for page in figures)
