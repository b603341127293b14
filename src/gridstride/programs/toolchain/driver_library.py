"""C of the driver's and NVRTC's functions that need no file of their own, by a table and NVIDIA's headers."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

DRIVER = Path(__file__).parent.parent / "driver"
MOST_PARAMETERS = 6
"""Whole numbers and pointers that a call passes in registers, on each machine we run on: so many are passed on."""

WRITTEN_OLDER = ("cuCtxCreate_v2", "cuCtxCreate_v3")
"""Symbols of older releases that driver/contexts.c has."""

_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_INTERNAL = "#if defined(__CUDA_API_VERSION_INTERNAL)\n"
_CONDITION = re.compile(r"^[ \t]*#[ \t]*(if|ifdef|ifndef|endif)\b.*\n", re.MULTILINE)
_DECLARED = re.compile(r"\bCUresult\s+CUDAAPI\s+(cu\w+)\s*\(([^;]*)\)\s*;")
_VERSIONED = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(cu[A-Z]\w+)[ \t]+(?:__CUDA_API_(PTSZ|PTDS)\((\w+)\)|(cu[A-Z]\w+))",
                        re.MULTILINE)  # fmt: skip
_JIT_LINK = re.compile(r"\bextern nvJitLinkResult (__nvJitLink\w+?)(_\d+_\d+)\s*\(")
_VERSION = re.compile(r"(?:_v\d)?(?:_pt[sd][sz])?$")
_RESULTS = re.compile(r"typedef enum cudaError_enum \{(.*?)\} CUresult;", re.DOTALL)
_RESULT = re.compile(r"\b(CUDA_\w+)\s*=\s*(\d+)")
_OLDER = "it is the form that an older release of CUDA gave it, with other parameters: compile with this one's cuda.h"
_WORDS = ", ".join(f"W {letter}" for letter in "abcdef")
_HEAD = f"""#include "driver.h"
#include <nvrtc.h>
typedef uint64_t W;
void *gs_nvrtc(const char *name);
#define SYMBOL(name, symbol) PUBLIC CUresult driver_##name({_WORDS}) __asm__(#symbol)
#define SAME(name, symbol, other, enter) \\
    cudaError_t via_##name({_WORDS}) __asm__(#other); \\
    SYMBOL(name, symbol); \\
    CUresult driver_##name({_WORDS}) {{ enter(); return RUNTIME(via_##name(a, b, c, d, e, f)); }}
#define NO_EFFECT(name, symbol) SYMBOL(name, symbol); \\
    CUresult driver_##name({_WORDS}) {{ ENTER_INITIALISED(); return gs_result(gs_fault()); }}
#define REFUSED(name, symbol, reason) SYMBOL(name, symbol); \\
    CUresult driver_##name({_WORDS}) {{ return RUNTIME(gs_refused(#name, reason)); }}
#define OLDER(symbol, reason) PUBLIC CUresult older_##symbol({_WORDS}) __asm__(#symbol); \\
    CUresult older_##symbol({_WORDS}) {{ return RUNTIME(gs_refused(#symbol, reason)); }}
#define VENDOR(name) PUBLIC nvrtcResult vendor_##name({_WORDS}) __asm__(#name); \\
    nvrtcResult vendor_##name({_WORDS}) {{ \\
        nvrtcResult (*vendor)({", ".join(["W"] * 6)}) = gs_nvrtc(#name); \\
        return vendor != NULL ? vendor(a, b, c, d, e, f) : NVRTC_ERROR_BUILTIN_OPERATION_FAILURE; }}
"""


def driver_functions() -> dict[str, dict[str, str]]:
    """The table: of every public function what becomes of it, with file, function of the runtime's or reason."""
    table: dict[str, dict[str, str]] = tomllib.loads((DRIVER / "functions.toml").read_text())
    return table


def public(header: str) -> dict[str, str]:
    """Name and parameters of each function that cuda.h declares for programs."""
    return {name: " ".join(parameters.split()) for name, parameters in _DECLARED.findall(_parts(header)[0])}


def _parts(header: str) -> tuple[str, str]:
    """The header without its comments: what it says to programs, and what of the symbols of older releases."""
    text = _COMMENT.sub("", header)
    start = text.find(_INTERNAL)
    if start < 0:
        return text, ""
    depth = 0
    for match in _CONDITION.finditer(text, start):
        depth += -1 if match[1] == "endif" else 1
        if depth == 0:
            return text[:start] + text[match.end() :], text[start : match.end()]
    return text[:start], text[start:]


def symbols(header: str) -> dict[str, tuple[str, str]]:
    """By the name that a program writes: the symbol, and its ending for per-thread streams, empty for none."""
    entry_points = {name: (name, "") for name in public(header)}
    for name, kind, versioned, plain in _VERSIONED.findall(_COMMENT.sub("", header)):
        if plain:
            entry_points[name] = (plain, entry_points.get(name, ("", ""))[1])
        elif not versioned.endswith(("_ptsz", "_ptds")):
            entry_points[name] = (versioned, f"_{kind.lower()}")
    return entry_points


def results(header: str) -> dict[str, int]:
    """The names of CUresult, with their numbers."""
    enumeration = _RESULTS.search(_COMMENT.sub("", header))
    return {name: int(number) for name, number in _RESULT.findall(enumeration[1])} if enumeration else {}


def generated_driver(table: Mapping[str, Mapping[str, str]], header: str) -> str:
    """C of all functions that are not written in a file, of the entry points' names and of the results' names."""
    symbol_table = symbols(header)
    versioned = [f"#undef {name}" for name, (symbol, _) in symbol_table.items() if symbol != name]
    lines = [_HEAD, *versioned, *_functions(table, symbol_table)]
    lines += [f'OLDER({older}, "{_OLDER}")' for older in older_symbols(header)[1]]
    lines.append("const char *const gs_entry_points[][3] = {")
    lines += [f'    {{"{name}", "{symbol}", "{ending}"}},' for name, (symbol, ending) in sorted(symbol_table.items())]
    lines += ["    {0}", "};", "const char *gs_result_name(int result) {", "    switch (result) {"]
    lines += [f'    case {number}: return "{name}";' for name, number in results(header).items()]
    lines += ["    default: return NULL;", "    }", "}"]
    return "\n".join(lines) + "\n"


def _functions(table: Mapping[str, Mapping[str, str]], symbol_table: Mapping[str, tuple[str, str]]) -> Iterator[str]:
    def symbol(name: str) -> str:
        return symbol_table.get(name, (name, ""))[0]

    for section, enter in (("same", "ENTER_DRIVER"), ("same_without_context", "ENTER_INITIALISED")):
        for name, target in table[section].items():
            yield f"SAME({name}, {symbol(name)}, {target}, {enter})"
    for name in table["no_effect"]:
        yield f"NO_EFFECT({name}, {symbol(name)})"
    for name, reason in table["refused"].items():
        yield f'REFUSED({name}, {symbol(name)}, "{reason}")'
    for name in table["vendor"]:
        yield f"VENDOR({name})"


_OWN_LINK = {
    "Create": "create", "Destroy": "destroy", "AddData": "add_data", "AddFile": "add_file", "Complete": "complete",
    "GetLinkedCubinSize": "cubin_size", "GetLinkedCubin": "cubin", "GetLinkedPtxSize": "ptx_size",
    "GetLinkedPtx": "ptx", "GetLinkedLTOIRSize": "ir_size", "GetLinkedLTOIR": "ir", "GetErrorLogSize": "error_size",
    "GetErrorLog": "error", "GetInfoLogSize": "info_size", "GetInfoLog": "info",
}  # fmt: skip
"""Written in driver/jit_link.c, under gs_jit_link_ and this."""


def generated_jit_link(header: str) -> str:
    """C of nvJitLink's functions; none where there is no header.

    Their symbols end with the release of the header; those that look for them by name know them without that, too.
    """
    functions = _JIT_LINK.findall(header)
    ending = functions[0][1] if functions else ""
    lines = ['#include "runtime.h"', "typedef uint64_t W;", "void *gs_jit_link(const char *name);",
             f'const char *const gs_jit_link_ending = "{ending}";']  # fmt: skip
    types, names = ", ".join(["W"] * 6), "a, b, c, d, e, f"
    for name, release in [*functions, ("nvJitLinkVersion", "")]:
        plain = name.removeprefix("__")
        own = _OWN_LINK.get(plain.removeprefix("nvJitLink"))
        called = f"int gs_jit_link_{own}({types});" if own else ""
        target = f"gs_jit_link_{own}" if own else "vendor"
        vendor_call = f'int (*vendor)({types}) = gs_jit_link("{name}{release}"); if (vendor == NULL) return 6;'
        for symbol in {name + release: None, plain: None}:
            function = f"link_{symbol}({_WORDS})"
            lines.append(
                f'{called} PUBLIC int {function} __asm__("{symbol}"); '
                f"int {function} {{ {'' if own else vendor_call} return {target}({names}); }}"
            )
    return "\n".join(lines) + "\n"


def driver_twins(table: Mapping[str, Mapping[str, str]], header: str) -> dict[str, str]:
    """The symbols of per-thread streams, with those that they lead to."""
    written = {name for section in table.values() for name in section}
    return {symbol + ending: symbol for name, (symbol, ending) in symbols(header).items() if ending and name in written}


def older_symbols(header: str) -> tuple[dict[str, str], list[str]]:
    """Symbols of older releases: those with today's parameters and what they lead to, and those with others."""
    today, symbol_table = public(header), symbols(header)
    known_names = {name for symbol, ending in symbol_table.values() for name in (symbol, symbol + ending)} | set(
        WRITTEN_OLDER
    )
    same, different = {}, []
    for older, parameters in _DECLARED.findall(_parts(header)[1]):
        name = _VERSION.sub("", older)
        if older in known_names:
            continue
        if name in today and _types(parameters) == _types(today[name]):
            same[older] = symbol_table[name][0]
        else:
            different.append(older)
    return same, different


def _types(parameters: str) -> list[str]:
    return [re.sub(r"\w+$|\s+", "", parameter.strip()) for parameter in parameters.split(",")]
