"""What a program has to destroy: C and Python mean the same by its numbers, and each kind is told with its call."""

from __future__ import annotations

import re

import pytest

from gridstride.programs.calls.objects import KINDS, OBJECTS, left_in_words, left_of
from gridstride.programs.toolchain.runtime_functions import RUNTIME
from gridstride.programs.toolchain.wheels import LIBRARIES
from gridstride.virtual.machine.memory.owners import EVERYONE, HOST

LETTERS = {
    "instance": "graph instances",
    "blas": "cuBLAS handles",
    "fft": "cuFFT plans",
    "random": "cuRAND generators",
    "sparse": "cuSPARSE handles",
}
"""Of names in C those that are not the kind's first letters."""


def kind_of(name: str) -> str:
    word = name.rpartition("OBJECT_")[2].lower()
    return LETTERS.get(word) or next(each for each in KINDS if word in each.split()[0] + each.split()[-1])


def test_numbers_are_in_the_order_of_the_runtimes() -> None:
    text = (RUNTIME / "runtime.h").read_text()
    (names,) = re.findall(r"enum \{ (OBJECT_[^}]*) \}", text)
    assert [kind_of(each) for each in re.findall(r"\w+", names)] == list(KINDS)


def test_libraries_begin_where_their_kinds_do() -> None:
    text = (LIBRARIES / "objects.h").read_text()
    first, names = re.findall(r"enum \{ GS_OBJECT_BLAS = (\d+), ([^}]*) \}", text)[0]
    numbered = ["GS_OBJECT_BLAS", *re.findall(r"\w+", names)]
    assert [kind_of(each) for each in numbered] == list(KINDS[int(first) :])


def test_owners_of_memory_have_the_runtimes_numbers() -> None:
    text = (RUNTIME / "runtime.h").read_text()
    assert f"OWNER_EVERYONE = {EVERYONE}, OWNER_HOST = {HOST} " in text


@pytest.mark.parametrize("kind", KINDS)
def test_one_of_a_kind_is_told_with_its_call(kind: str) -> None:
    assert left_in_words({left_of(kind): 1}) == f"1 {kind.removesuffix('s')} ({OBJECTS[kind]})"
    assert left_in_words({left_of(kind): 0}) == ""
