# SPDX-License-Identifier: GPL-3.0-or-later
"""The documents name files that are there, and equations where they are."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), ROOT / "solver_core" / "README.md"])
MADE = ("build/", "dist/", "manual/", "docs/pictures/more/", ".venv/")  # by the commands


def named_files(text: str) -> set[str]:
    """What stands between backquotes and ends like a file of the repository or a folder of it."""
    return set(re.findall(r"`((?:[\w.-]+/)*[\w.*-]+\.(?:py|toml|txt|md|sha256|yaml)|(?:[\w.-]+/)+)`", text))


def links(text: str) -> set[str]:
    return set(re.findall(r"\]\((?!https?:)([^)#\s]+)", text))


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_the_files_that_a_document_names_are_there(document):
    text = document.read_text()
    places = (ROOT, ROOT / "solver_core", document.parent)
    files = {name for name in named_files(text) if not name.startswith(MADE)}
    missing = {name for name in files if not any(any(place.glob(name.rstrip("/"))) for place in places)}
    missing |= {link for link in links(text) if not (document.parent / link).exists()}
    assert not missing


def test_a_name_that_is_not_there_would_be_seen():
    assert named_files("see `collision/nothing.py` and `docs/` and `sc.solve`") == {"collision/nothing.py", "docs/"}


def equations_told() -> list[tuple[str, str, list[str]]]:
    """Of the table of equations in solver_core/README.md: numbers, file and functions, a row each."""
    text = (ROOT / "solver_core" / "README.md").read_text()
    table = text.split("### Where the papers' equations are")[1].split("\n\n")[1]
    told = []
    for row in table.splitlines()[2:]:
        _, _, equation, here, _ = row.split("|")
        for place in here.split(";"):
            file, *functions = re.findall(r"`([^`]+)`", place)
            told.append((equation, file, functions))
    return told


@pytest.mark.parametrize(("equation", "file", "functions"), equations_told())
def test_an_equation_is_in_the_file_that_the_table_names(equation, file, functions):
    text = (ROOT / "solver_core" / file).read_text()
    numbers = re.findall(r"\(\d+\)", equation)
    assert numbers
    assert any(number in text for number in numbers)
    assert not [name for name in functions if not re.search(rf"^def {name}\(", text, re.MULTILINE)]


def components() -> dict[str, str]:
    """What solver_core/README.md says of each folder of the core, by its path there; of the core itself it is all of that."""
    text = (ROOT / "solver_core" / "README.md").read_text().split("## The components")[1].split("\n\n")[1]
    told, folder, now = {"": text}, "", ""
    for line in text.splitlines():
        if begun := re.match(r"( +)(\w+)/ ", line):
            is_within = len(begun[1]) > len("    ")
            folder = folder if is_within else begun[2]
            now = f"{folder}/{begun[2]}" if is_within else folder
        elif re.match(r" {4}\w", line):
            now = ""
        told[now] = told.get(now, "") + line + "\n"
    return told


def test_each_file_of_the_core_is_named_among_the_components_of_its_folder():
    core = ROOT / "solver_core"
    told = components()
    assert len(told) > 20
    files = [file for file in core.rglob("*.py") if not file.stem.startswith("__")]
    folders = {file: file.parent.relative_to(core).as_posix().removeprefix(".") for file in files}
    assert set(folders.values()) == set(told)
    assert [str(file.relative_to(core)) for file in files if not re.search(rf"\b{file.stem}\b", told[folders[file]])] == []
