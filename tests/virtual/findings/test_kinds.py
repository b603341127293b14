"""The table of kinds of findings: each has words where it is reported, and a test that brings it about."""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from types import ModuleType

import pytest

from gridstride.virtual.abi import finding_kinds
from gridstride.virtual.abi.finding_kinds import FAULT, KINDS, FindingKind, Source
from gridstride.virtual.findings import fault_messages, recorded
from gridstride.virtual.findings.finding import KernelFinding

TESTS = Path(__file__).parents[2]
SOURCE = Path(finding_kinds.__file__).parents[1]


@pytest.mark.parametrize(("source", "module"), [("ends", fault_messages), ("recorded", recorded)])
def test_a_kind_without_words_is_an_import_error(
    monkeypatch: pytest.MonkeyPatch, source: Source, module: ModuleType
) -> None:
    monkeypatch.setitem(KINDS, "a_new_one", FindingKind((source,), True, "LAUNCH_FAILURE", "what it means"))
    with pytest.raises(ImportError, match="a_new_one"):
        importlib.reload(module)
    monkeypatch.undo()
    importlib.reload(module)


def test_a_finding_is_of_a_kind_that_has_a_row() -> None:
    with pytest.raises(ValueError, match="'a_new_one' is no kind of finding"):
        KernelFinding("a_new_one", "", "k")


def test_every_kind_says_in_a_sentence_what_it_means() -> None:
    assert all(len(kind.meaning.split()) >= 4 for kind in KINDS.values())


def test_numbers_are_those_of_the_rows() -> None:
    assert [FAULT[name] for name in KINDS] == list(range(1, len(KINDS) + 1))


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_reported_somewhere(kind: str) -> None:
    reports = [SOURCE / "lowering", SOURCE / "runtime", SOURCE / "machine"]
    rooms = [SOURCE.parent / name for name in ("judge", "programs")]
    folders = [SOURCE, *rooms] if KINDS[kind].source == ("host",) else reports
    words = {file: file.read_text() for folder in folders for file in folder.rglob("*.py")}
    names = [file for file, text in words.items() if f'"{kind}"' in text and file.name != "finding_kinds.py"]
    assert names, f"no emitter reports {kind}"


@pytest.mark.parametrize("kind", sorted(KINDS.keys() - {"interrupted"}))  # that becomes a KeyboardInterrupt
def test_every_kind_is_brought_about_by_a_test(kind: str) -> None:
    lists = (Path(__file__), Path(__file__).with_name("test_faulty.py"))  # they name kinds that others bring about
    files = [file for ending in ("py", "cu") for file in TESTS.rglob(f"*.{ending}") if file not in lists]
    asked = re.compile(rf'"{kind}"|^// (?:expect|kinds): [\w ]*\b{kind}\b', re.MULTILINE)
    assert any(asked.search(file.read_text()) for file in files), f"no test asks for {kind}"
