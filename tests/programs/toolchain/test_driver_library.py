"""The table of the driver's and NVRTC's public functions, against NVIDIA's headers and our C files."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

from gridstride.programs.toolchain.driver_library import (
    DRIVER,
    MOST_PARAMETERS,
    WRITTEN_OLDER,
    driver_functions,
    driver_twins,
    generated_driver,
    generated_jit_link,
    older_symbols,
    public,
    results,
    symbols,
)
from gridstride.programs.toolchain.runtime_functions import functions

_DEFINED = re.compile(r"^PUBLIC [^\n(]*?\b(cu[A-Z]\w+|nvrtc\w+)\(", re.MULTILINE)
_FILLS = re.compile(r"^FILLS\((\d+),", re.MULTILINE)
_VENDOR = re.compile(r"^(?:nvrtcResult|const char \*)\s*(nvrtc[A-Z]\w+)\s*\(", re.MULTILINE)
_PROFILER = ("cuProfilerStart", "cuProfilerStop")
_EMPTY: dict[str, dict[str, str]] = {
    "done": {}, "same": {}, "same_without_context": {}, "no_effect": {}, "refused": {}, "vendor": {}
}  # fmt: skip
SAMPLE = """
#define cuStreamDestroy cuStreamDestroy_v2
#define cuMemcpy2D __CUDA_API_PTDS(cuMemcpy2D_v2)
typedef enum cudaError_enum { CUDA_SUCCESS = 0, /* all is well */ CUDA_ERROR_INVALID_VALUE = 1 } CUresult;
CUresult CUDAAPI cuInit(unsigned int Flags);
CUresult CUDAAPI cuStreamDestroy(CUstream hStream);
CUresult CUDAAPI cuMemcpy2D(const CUDA_MEMCPY2D *pCopy);
#if defined(__CUDA_API_VERSION_INTERNAL)
#if 1
CUresult CUDAAPI cuStreamDestroy(CUstream stream);
CUresult CUDAAPI cuMemcpy2D(const CUDA_MEMCPY2D_v1 *pCopy);
#endif
#endif
CUresult CUDAAPI cuLast(void);
"""


def header(name: str) -> str:
    spec = importlib.util.find_spec("nvidia")
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        path = Path(folder, "cu13", "include", name)
        if path.is_file():
            return path.read_text(errors="replace")
    pytest.skip(f"NVIDIA's {name} is not where the wheels of CUDA 13 put it")


def rows() -> list[str]:
    return [name for section in driver_functions().values() for name in section]


def defined() -> dict[str, str]:
    found = {}
    for file in DRIVER.glob("*.c"):
        text = file.read_text()
        found |= {name: file.name for name in _DEFINED.findall(text) if name not in ("cuMemsetD", "cuMemsetD2D")}
        for bits in _FILLS.findall(text):
            forms = (f"cuMemsetD{bits}", f"cuMemsetD2D{bits}")
            found |= {name + ending: file.name for name in forms for ending in ("", "Async")}
    return {name: file for name, file in found.items() if name not in WRITTEN_OLDER}


def test_every_public_function_of_the_driver_has_a_row() -> None:
    assert set(public(header("cuda.h"))) | set(_PROFILER) == {name for name in rows() if name.startswith("cu")}


def test_every_function_of_nvrtc_has_a_row() -> None:
    text = re.sub(r"/\*.*?\*/", "", header("nvrtc.h"), flags=re.DOTALL)
    templates = {"nvrtcGetTypeName"}  # written in the header
    assert set(_VENDOR.findall(text)) - templates == {name for name in rows() if name.startswith("nvrtc")}


def test_no_function_has_two_rows() -> None:
    assert sorted(rows()) == sorted(set(rows()))


def test_sections_are_those_there_are() -> None:
    assert set(driver_functions()) == set(_EMPTY)


def test_what_is_done_is_written_in_the_file_that_the_row_names() -> None:
    assert driver_functions()["done"] == defined()


def test_what_is_the_runtimes_is_done_there_with_as_many_parameters() -> None:
    runtime = re.sub(r"/\*.*?\*/", "", header("cuda_runtime_api.h"), flags=re.DOTALL)
    declared = dict(re.findall(r"\bCUDARTAPI(?:_CDECL)?\s+(cuda\w+)\s*\(([^;]*)\)\s*;", runtime))
    ours, table = public(header("cuda.h")), driver_functions()
    for name, other in (table["same"] | table["same_without_context"]).items():
        count = len(ours[name].split(","))
        assert other in functions()["done"], name
        assert count == len(re.sub(r"__dv\([^)]*\)", "", declared[other]).split(",")), name
        assert count <= MOST_PARAMETERS, name


def test_every_reason_is_one_that_c_can_print() -> None:
    for section in ("no_effect", "refused"):
        for name, reason in driver_functions()[section].items():
            assert reason, name
            assert not set('"\\%') & set(reason), name


def test_symbols_are_those_that_the_header_gives_a_name() -> None:
    assert symbols(SAMPLE) == {
        "cuInit": ("cuInit", ""), "cuStreamDestroy": ("cuStreamDestroy_v2", ""),
        "cuMemcpy2D": ("cuMemcpy2D_v2", "_ptds"), "cuLast": ("cuLast", ""),
    }  # fmt: skip


def test_older_symbols_lead_to_todays_where_the_parameters_are_the_same() -> None:
    assert older_symbols(SAMPLE) == ({"cuStreamDestroy": "cuStreamDestroy_v2"}, ["cuMemcpy2D"])


def test_what_is_said_behind_the_older_symbols_is_public_again() -> None:
    assert public(SAMPLE)["cuLast"] == "void"


def test_results_have_the_names_and_numbers_of_the_header() -> None:
    assert results(SAMPLE) == {"CUDA_SUCCESS": 0, "CUDA_ERROR_INVALID_VALUE": 1}
    assert results(header("cuda.h"))["CUDA_ERROR_INVALID_PTX"] == 218


def test_functions_of_per_thread_streams_lead_to_their_twins() -> None:
    table = _EMPTY | {"done": {"cuMemcpy2D": "driver_arrays.c"}}
    assert driver_twins(table, SAMPLE) == {"cuMemcpy2D_v2_ptds": "cuMemcpy2D_v2"}


def test_functions_of_nvjitlink_have_the_release_of_the_header_in_their_symbols() -> None:
    text = generated_jit_link(
        "extern nvJitLinkResult __nvJitLinkCreate_13_5(\n);\nextern nvJitLinkResult __nvJitLinkComplete_13_5 (H h);\n"
    )
    assert 'gs_jit_link_ending = "_13_5"' in text
    assert '__asm__("__nvJitLinkCreate_13_5"); ' in text
    assert "return gs_jit_link_create(a" in text
    assert "return gs_jit_link_complete(a" in text
    assert '__asm__("nvJitLinkComplete"); ' in text  # who looks by name knows no release


def test_without_the_header_of_nvjitlink_only_its_version_is_asked_for() -> None:
    assert generated_jit_link("").count("PUBLIC") == 1


def test_generated_functions_have_the_symbols_of_the_header() -> None:
    table = _EMPTY | {
        "same": {"cuStreamDestroy": "cudaStreamDestroy"}, "refused": {"cuLast": "there is none"},
        "vendor": {"nvrtcVersion": "libnvrtc"},
    }  # fmt: skip
    text = generated_driver(table, SAMPLE)
    assert "SAME(cuStreamDestroy, cuStreamDestroy_v2, cudaStreamDestroy, ENTER_DRIVER)" in text
    assert 'REFUSED(cuLast, cuLast, "there is none")' in text
    assert "VENDOR(nvrtcVersion)" in text
    assert '{"cuMemcpy2D", "cuMemcpy2D_v2", "_ptds"},' in text
    assert 'case 1: return "CUDA_ERROR_INVALID_VALUE";' in text
