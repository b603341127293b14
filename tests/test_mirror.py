"""Tests mirror the source: what src/gridstride/a/b.py does is tested in tests/a/test_b.py."""

from __future__ import annotations

from collections import Counter, defaultdict
from pathlib import Path

TESTS = Path(__file__).parent
SOURCE = TESTS.parent / "src" / "gridstride"
MOST_FILES = 21
LARGER = {
    "judge/hostile": "each file is a submission",
    "kernels": "named for the ops that users call, whatever kernels these are made of",
}
LEAST_SHARE = 0.501
"""Of the modules, those of kernels apart: so many have a test of their own name. It only grows."""


def modules() -> list[Path]:
    """All that is ours but kernels, which the judge tests rung by rung."""
    files = (file.relative_to(SOURCE) for file in SOURCE.rglob("*.py"))
    return [file for file in files if file.parts[0] != "kernels" and not file.name.startswith("__")]


def test_a_test_named_for_a_module_lies_where_the_module_lies() -> None:
    """Looked for in the test's own room: a module or a folder of that name, where there is one alone."""
    places = defaultdict(set)
    for file in modules():
        for path in (file.with_suffix(""), *file.parents[:-2]):
            places[path.parts[0], path.name].add(path.parent)
    elsewhere = {}
    for file in TESTS.rglob("test_*.py"):
        test = file.relative_to(TESTS)
        expected = places[test.parts[0], test.stem.removeprefix("test_")]
        if len(expected) == 1 and test.parent not in expected:
            elsewhere[test.as_posix()] = expected.pop().as_posix()
    assert elsewhere == {}


def test_a_folder_of_tests_is_read_at_one_glance() -> None:
    sizes = Counter(file.parent.relative_to(TESTS).as_posix() for file in TESTS.rglob("*.py"))
    assert {folder: size for folder, size in sizes.items() if size > MOST_FILES and folder not in LARGER} == {}


def test_modules_have_tests_of_their_own_names() -> None:
    missing = [file for file in modules() if not (TESTS / file.parent / f"test_{file.name}").is_file()]
    share = 1 - len(missing) / len(modules())
    assert share >= LEAST_SHARE, f"new modules without tests? {[str(file) for file in missing]}"
