# SPDX-License-Identifier: GPL-3.0-or-later
"""The documents become pages in which nothing leads nowhere, and nothing is left out."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

# the smallest picture that is one
PICTURE = b"GIF89a\x01\x00\x01\x00\x00\x00\x00,\x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x02D\x01\x00;"


@pytest.fixture
def pages(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / ".ci"))
    import pages

    return pages


@pytest.fixture
def documents(tmp_path):
    """A repository with all the pages that the navigation has, and nothing in them."""
    sys.path.insert(0, str(ROOT / "docs"))
    try:
        from conf import PAGES
    finally:
        sys.path.remove(str(ROOT / "docs"))
    for name in (name for names in PAGES.values() for name in names):
        file = tmp_path / f"{name}.md"
        file.parent.mkdir(exist_ok=True)
        file.write_text(f"# {name}\n")
    (tmp_path / "docs" / "friction.md").write_text("# There\n\n## A heading\n")
    (tmp_path / "docs" / "picture.gif").write_bytes(PICTURE)
    return tmp_path


@pytest.mark.long
def test_every_link_anchor_and_picture_of_the_documents_leads_somewhere_and_no_page_is_left_out(pages, tmp_path):
    assert not pages.make_pages(ROOT, tmp_path / "pages")
    assert 'url=README.html"' in (tmp_path / "pages" / "index.html").read_text()
    # nothing is there twice, and the licence is beside the folder of the pages
    files = [file for file in (tmp_path / "pages").rglob("*") if file.is_file()]
    assert len({file.read_bytes() for file in files}) == len(files)
    assert not [file for file in files if file.suffix == ".map" or file.name == "LICENSE"]
    assert 'href="../LICENSE"' in (tmp_path / "pages" / "README.html").read_text()


@pytest.mark.slow
def test_what_leads_nowhere_and_a_page_that_the_navigation_leaves_out_are_found(pages, documents, tmp_path):
    wrong = ("(docs/nowhere.md)", "(docs/friction.md#another-heading)", "(#no-heading)", "(docs/nothing.gif)")
    (documents / "README.md").write_text(
        "# Front\n\n" + "".join(f"[there]{to}\n" for to in wrong[:-1]) + f"![there]{wrong[-1]}\n"
    )
    (documents / "docs" / "forgotten.md").write_text("# Forgotten\n")
    found = "\n".join(pages.make_pages(documents, tmp_path / "pages"))
    assert all(word in found for word in ("nowhere", "another-heading", "no-heading", "nothing.gif", "forgotten"))


@pytest.mark.slow
def test_links_and_pictures_that_lead_somewhere_are_in_order(pages, documents, tmp_path):
    (documents / "README.md").write_text("# Front\n\n[there](docs/friction.md#a-heading) ![a picture](docs/picture.gif)\n")
    assert not pages.make_pages(documents, tmp_path / "pages")
