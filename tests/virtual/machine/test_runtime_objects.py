"""The runtime cut into parts: what is in which, and that nothing is lost."""

from __future__ import annotations

import re

import pytest

from gridstride.virtual.machine.runtime_objects import WATCHED, RuntimeObjects, split


@pytest.fixture(scope="module")
def parts() -> RuntimeObjects:
    return split()


def test_no_function_is_in_two_parts(parts: RuntimeObjects) -> None:
    names = [name for part in (*parts.core, parts.rare) for name in part.names]
    assert len(names) == len(set(names))


def test_the_core_calls_nothing_of_the_rare_part(parts: RuntimeObjects) -> None:
    called = {name for part in parts.core for name in re.findall(r"@(gs_\w+)", part.ir)}
    assert called.isdisjoint(parts.rare.names)


def test_a_part_defines_the_functions_that_it_names(parts: RuntimeObjects) -> None:
    for part in (*parts.core, parts.rare):
        defined = re.findall(r"^define [^@]*@(\w+)|\.globl (\w+)", part.ir, re.MULTILINE)
        assert {a or b for a, b in defined} == set(part.names)


def test_all_that_is_called_is_in_some_part(parts: RuntimeObjects) -> None:
    everything = (*parts.core, parts.rare)
    names = {name for part in everything for name in part.names}
    called = {name for part in everything for name in re.findall(r"call [^@]*@(gs_\w+)\(", part.ir)}
    assert called <= names


def test_what_plain_observed_accesses_call_is_compiled_thoroughly(parts: RuntimeObjects) -> None:
    assert parts.core[1].effort == "thorough"
    assert set(WATCHED) <= set(parts.core[1].names)


def test_textures_and_launches_wait_for_a_kernel_that_has_them(parts: RuntimeObjects) -> None:
    rare = " ".join(parts.rare.names)
    assert "gs_texel" in rare
    assert "gs_launch" in rare
