"""The documents name what there is: kinds of findings, counters, and files."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gridstride.virtual.machine.layout import FAULTS
from gridstride.virtual.observe.counters import Counters

ROOT = Path(__file__).parents[1]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
VIRTUAL = (ROOT / "docs/virtual-gpu.md").read_text()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_to_files(page: Path) -> None:
    prose = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
    links = re.findall(r"\]\(([^)#`]+)\)", re.sub(r"`[^`]*`", "", prose))
    assert links or page.name != "README.md"
    assert [link for link in links if "://" not in link and not (page.parent / link).exists()] == []


@pytest.mark.parametrize("kind", [kind for kind in FAULTS if kind not in ("none", "interrupted")])
def test_every_kind_of_finding_is_explained(kind: str) -> None:
    assert f"`{kind}`" in VIRTUAL


def test_counters_have_the_names_they_are_explained_by() -> None:
    section = VIRTUAL.partition("## Counters")[2].partition("\n\n**")[0]
    names = [n for row in section.splitlines() if row.startswith("| `") for n in re.findall(r"`([\w{},]+)`", row)]
    whole = [n for name in names for n in _spelled(name) if n in dir(Counters())]
    assert len(whole) == len([n for name in names for n in _spelled(name)]) > 25


def _spelled(name: str) -> list[str]:
    """The names that braces stand for."""
    head, brace, rest = name.partition("{")
    if not brace:
        return [name]
    words, _, tail = rest.partition("}")
    return [head + word + end for word in words.split(",") for end in _spelled(tail)]
