# SPDX-License-Identifier: GPL-3.0-or-later
"""How Sphinx makes pages of the documents: `make docs`.

The source folder is the repository, so that a link means the same in a page and in the file that it is made of. README.md is
the front page; which pages there are, and in which order, is told here, for it would be noise in a README read by itself.
"""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

from sphinx.application import Sphinx

ROOT = Path(__file__).resolve().parents[1]
FRONT = "README"
# stands where docs/api.md has the docstrings
REFERENCE = "<!-- reference -->"
PAGES = {
    "For artists": (
        "docs/first-bake",
        "docs/from-bullet",
        "docs/friction",
        "docs/gallery",
        "docs/settings",
        "docs/baking",
        "docs/settle",
        "docs/scene",
        "docs/ragdoll",
        "docs/flexible",
        "docs/destruction",
        "docs/sound",
        "docs/troubleshooting",
        "docs/limits",
    ),
    "For pipelines": ("docs/headless", "docs/sweeps", "docs/farms", "docs/interchange", "docs/contact-problems", "docs/api"),
    "For the curious": (
        "docs/theory",
        "solver_core/README",
        "docs/constants",
        "docs/measured",
        "docs/mechanisms",
        "docs/papers",
        "docs/everyday",
        "docs/rivals",
    ),
    "For those who build it": ("CONTRIBUTING", "docs/glossary", "docs/experiments", "CHANGELOG"),
    "Decisions": (
        "docs/design/house",
        "docs/design/solvers",
        "docs/design/problems",
        "docs/design/many-bodies",
        "docs/design/published",
        "docs/design/dynamics",
        "docs/design/given-motion",
        "docs/design/rest",
        "docs/design/impacts",
        "docs/design/joints",
        "docs/design/fracture",
        "docs/design/sound",
        "docs/design/bending",
        "docs/design/large-bends",
        "docs/design/collision",
        "docs/design/compile",
        "docs/design/same-bits",
        "docs/design/reading",
        "docs/design/walks",
        "docs/design/baking",
        "docs/design/files",
        "docs/design/sweeps",
    ),
}

project = "Stiction"
author = "Stiction contributors"
copyright = "2026, Stiction contributors, GPL-3.0-or-later"
release = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]

extensions = ["myst_parser"]
root_doc = FRONT
# documents beside these are found too, and are told to be left out of the list above
include_patterns = ["*.md", "docs/**.md", "solver_core/**.md"]
# what goes to the extensions platform beside the zips is not for their readers
exclude_patterns = ["docs/platform"]
myst_heading_anchors = 4
nitpicky = True
highlight_language = "none"

html_theme = "furo"
html_title = f"Stiction {release}"
html_copy_source = False
html_show_sourcelink = False


def add_list_of_pages(app: Sphinx, name: str, source: list[str]) -> None:
    """Let the front page name the others, for the navigation."""
    if name == FRONT:
        for caption, pages in PAGES.items():
            source[0] += "\n".join(["\n```{toctree}", ":hidden:", f":caption: {caption}", "", *pages, "```\n"])


def add_reference(app: Sphinx, name: str, source: list[str]) -> None:
    """Put the reference of the library into the page that asks for it."""
    if REFERENCE in source[0]:
        sys.path.insert(0, str(ROOT / ".ci"))
        try:
            from api_reference import reference
        finally:
            sys.path.remove(str(ROOT / ".ci"))
        source[0] = source[0].replace(REFERENCE, reference())


def make_index(app: Sphinx, error: Exception | None) -> None:
    """Where a server, or a reader of the folder, looks first."""
    if error is None:
        head = f'<meta charset="utf-8"><meta http-equiv="refresh" content="0; url={FRONT}.html"><title>{html_title}</title>'
        page = f'<!DOCTYPE html>{head}<a href="{FRONT}.html">{html_title}</a>\n'
        (app.outdir / "index.html").write_text(page, encoding="utf-8")


def setup(app: Sphinx) -> None:
    """Called by Sphinx."""
    app.connect("source-read", add_list_of_pages)
    app.connect("source-read", add_reference)
    app.connect("build-finished", make_index)
