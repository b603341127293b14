"""Headers of --cuda11: the fields that are brought back, and the sentence where the option is missing."""

from __future__ import annotations

import pytest

from gridstride.programs.program_errors import ProgramError
from gridstride.programs.toolchain.old_headers import asks_for_old, driver_types


def test_fields_of_old_stand_behind_the_wheels() -> None:
    made = driver_types("struct other {\n int a;\n};\nstruct __builtin__ cudaDeviceProp\n{\n int reserved[5];\n};\n")
    assert made.index("reserved") < made.index("int clockRate;") < made.index("int memoryClockRate;")
    assert made.startswith("struct other {\n int a;\n};\n")


def test_a_header_without_the_structure_is_an_error() -> None:
    with pytest.raises(ProgramError, match="--cuda11"):
        driver_types("struct other { int a; };\n")


@pytest.mark.parametrize(
    ("message", "name"),
    [
        ('a.cu(3): error: identifier "cudaThreadSynchronize" is undefined', "cudaThreadSynchronize"),
        ("a.c:3:5: error: call to undeclared function 'cudaThreadExit'; ISO C99", "cudaThreadExit"),
        ("a.cpp:3:5: error: use of undeclared identifier 'cudaThreadExit'", "cudaThreadExit"),
        ("a.cu(2): error: texture is not a template", "texture<> references"),
        ("a.cu(2): error: surface is not a template", "surface<> references"),
        ('a.cu(5): error: class "cudaDeviceProp" has no member "clockRate"', "clockRate"),
        ("a.cpp:5:3: error: no member named 'computeMode' in 'cudaDeviceProp'", "computeMode"),
        ('a.cu(5): error: identifier "__shfl" is undefined', "__shfl"),
        ('a.cu(5): error: no suitable constructor exists to convert from "int" to "cudaMemLocation"', "cudaMemAdvise"),
        ("a.cu:1:10: fatal error: 'texture_fetch_functions.h' file not found", "texture_fetch_functions.h"),
        ('a.cu(1): catastrophic error: could not open source file "cuda_texture_types.h"', "cuda_texture_types.h"),
    ],
)
def test_what_was_dropped_names_the_option(message: str, name: str) -> None:
    sentence = asks_for_old(message)
    assert sentence is not None
    assert name in sentence
    assert "--cuda11" in sentence


@pytest.mark.parametrize(
    "message",
    [
        'a.cu(5): error: class "Mine" has no member "clockrate"',
        'a.cu(5): error: identifier "texture_of_mine" is undefined',
    ],
)
def test_other_errors_do_not(message: str) -> None:
    assert asks_for_old(message) is None
