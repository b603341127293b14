"""Names of kernels: what a mangled one is called in the source, and what an unknown one may have meant."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from difflib import get_close_matches

from gridstride.compiler.diagnostics import Diagnostic
from gridstride.compiler.signature import KernelSignature, signatures

# NVRTC checks name expressions as pragmas of a file of this name, and quotes the pragma in its message.
NAME_MAP = "__nv_name_map"
_PRAGMA = re.compile(r"#pragma nv_mangled_name (?P<name>.*)")
_ENTRY = re.compile(r"^\s*(?:\.visible\s+|\.weak\s+)?\.entry\s+([\w$]+)", re.MULTILINE)


def kernel_names(ptx: str) -> dict[str, str]:
    """Lowered names of the PTX's kernels by their names in the source; templates and overloads are left out."""
    names: dict[str, list[str]] = {}
    for lowered in _ENTRY.findall(ptx):
        name = source_name(lowered)
        if name:
            names.setdefault(name, []).append(lowered)
    return {name: lowered[0] for name, lowered in names.items() if len(lowered) == 1}


def source_name(lowered: str) -> str | None:
    """The qualified C++ name of a lowered function name (Itanium mangling); None for a template's instance.

    >>> source_name("_ZN2ns4tileEPf")
    'ns::tile'
    """
    if not lowered.startswith("_Z"):
        return lowered
    nested = lowered.startswith("_ZN")
    remaining = lowered[3:] if nested else lowered[2:].removeprefix("L")
    parts = []
    while length := re.match(r"\d+", remaining):
        end = length.end() + int(length[0])
        parts.append(remaining[length.end() : end])
        remaining = remaining[end:]
        if not nested:
            break
    if not parts or remaining.startswith("I") or (nested and not remaining.startswith("E")):
        return None
    return "::".join(part for part in parts if not part.startswith(("_GLOBAL__N_", "_INTERNAL_")))


def explain_names(diagnostics: Iterable[Diagnostic], *, filename: str, source: str) -> list[Diagnostic]:
    """NVRTC's several complaints about each name expression as one, with the nearest kernel and where it is."""
    explained: list[Diagnostic] = []
    explained_names: set[str] = set()
    kernel_signatures: Mapping[str, KernelSignature] | None = None
    for diagnostic in diagnostics:
        if diagnostic.file != NAME_MAP:
            explained.append(diagnostic)
            continue
        pragma = _PRAGMA.search(diagnostic.source_line)
        name = pragma["name"].strip() if pragma else ""
        if name in explained_names:
            continue
        explained_names.add(name)
        kernel_signatures = signatures(source) if kernel_signatures is None else kernel_signatures
        explained.append(_explained(replace(diagnostic, file=filename), name, kernel_signatures, source))
    return explained


def _explained(
    diagnostic: Diagnostic, name: str, kernel_signatures: Mapping[str, KernelSignature], source: str
) -> Diagnostic:
    base = re.sub(r"\s|<.*", "", name, flags=re.DOTALL).lstrip("&")
    kernel, message = kernel_signatures.get(base), f'no kernel "{name}": {diagnostic.message}'
    if kernel:
        message += f"; the kernel is {kernel}"
    else:
        simple = {known_name.rpartition("::")[2]: known_name for known_name in kernel_signatures}
        near = get_close_matches(base.rpartition("::")[2], simple, n=1, cutoff=0.5)
        kernel = kernel_signatures[simple[near[0]]] if near else None
        if kernel:
            template = f"<{', '.join(kernel.template)}>" if kernel.template else ""
            message += f'; did you mean "{kernel.name}{template}"?'
        else:
            message += f"; kernels here: {', '.join(kernel_signatures) or 'none'}"
    if kernel is None:
        return replace(diagnostic, line=0, column=0, source_line="", message=message)
    line = source.splitlines()[kernel.line - 1]
    column = line.find(kernel.name.rpartition("::")[2]) + 1
    return replace(diagnostic, line=kernel.line, column=column, source_line=line, message=message)
