"""The table of the runtime's public functions, against NVIDIA's headers and against our C files."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

from gridstride.programs.toolchain.runtime_functions import RUNTIME, functions
from gridstride.programs.toolchain.runtime_library import generated

_DECLARED = re.compile(r"\bCUDARTAPI(?:_CDECL)?\s+(cuda\w+)\s*\(")
_DEFINED = re.compile(r"^PUBLIC [^\n(]*?\b(cuda\w+)\(", re.MULTILINE)


def header(name: str) -> str:
    spec = importlib.util.find_spec("nvidia")
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        path = Path(folder, "cu13", "include", name)
        if path.is_file():
            return re.sub(r"/\*.*?\*/", "", path.read_text(errors="replace"), flags=re.DOTALL)
    pytest.skip(f"NVIDIA's {name} is not where the wheels of CUDA 13 put it")


def rows() -> dict[str, str]:
    return {name: status for status, section in functions().items() for name in section}


def defined() -> dict[str, str]:
    return {name: file.name for file in RUNTIME.glob("*.c") for name in _DEFINED.findall(file.read_text())}


def test_every_public_function_has_a_row() -> None:
    assert set(_DECLARED.findall(header("cuda_runtime_api.h"))) - set(rows()) == set()


def test_every_function_of_the_profilers_header_has_a_row() -> None:
    names = {"cudaProfilerStart", "cudaProfilerStop"}
    assert names <= set(rows())


def test_no_function_has_two_rows() -> None:
    names = [name for section in functions().values() for name in section]
    assert sorted(names) == sorted(set(names))


def test_what_is_done_is_written_in_the_file_that_the_row_names() -> None:
    assert functions()["done"] == defined()


def test_statuses_are_the_three_there_are() -> None:
    assert set(functions()) == {"done", "no_effect", "refused"}


def test_every_reason_is_one_that_c_can_print() -> None:
    for section in ("no_effect", "refused"):
        for reason in functions()[section].values():
            assert reason
            assert not set('"\\%') & set(reason)


def test_a_refused_function_names_itself_and_the_reason() -> None:
    text = generated({"refused": {"cudaOne": "there is none"}, "no_effect": {}, "done": {}}, "")
    assert 'gs_refused("cudaOne", "there is none")' in text


def test_functions_of_the_per_thread_stream_lead_to_their_twins() -> None:
    table = {"refused": {}, "no_effect": {}, "done": {"cudaMemcpy": "copies.c"}}
    text = generated(table, "#define cudaMemcpy   __CUDART_API_PTDS(cudaMemcpy)\n")
    assert "TWIN_OF_THREADS(cudaMemcpy_ptds, cudaMemcpy)" in text
