"""Clang's PTX as the rest of the project reads it: names of template instances, places in the user's own files."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping

from gridstride.compiler.names import source_name

NAME_KERNEL, TYPES_KERNEL = "gridstride_name_", "gridstride_types_of_"
"""Empty kernels, templates over a kernel's address or over its type, which their own lowered names then hold."""
_ENTRY = re.compile(r"^[ \t.\w]*\.entry[ \t]+(?P<name>[\w$.]+)", re.MULTILINE)
_ADDED = re.compile(
    rf"^[^\n]*\.globl[^\n]*\n(?:[ \t]*//[^\n]*\n)*[.\w ]*\.entry _Z\d+(?:{NAME_KERNEL}|{TYPES_KERNEL})\d+I[\w$.]*\(\)"
    r".*?^\}\n",
    re.MULTILINE | re.DOTALL,
)
_FILE = re.compile(r'^([ \t]*\.file[ \t]+)(?P<index>\d+)[ \t]+"(?P<path>(?:[^"\\]|\\.)*)"', re.MULTILINE)
_LOC = re.compile(r"^[ \t]*\.loc[ \t]+(?P<file>\d+)[^\n]*\n", re.MULTILINE)
_SUBSTITUTION = re.compile(r"S(?P<index>[0-9A-Z]*)_")
_MATH = re.compile(r"\.extern \.func[^;]*?\b(?P<name>__nv_\w+)")


def lowered_names(ptx: str, names: Iterable[str]) -> dict[str, str]:
    """The PTX name of each name expression, in the order in which their kernels were numbered."""
    entries = _ENTRY.findall(ptx)
    return {name: _lowered(number, entries) for number, name in enumerate(names)}


def lowered_types(ptx: str, kernels: Iterable[str]) -> dict[str, str]:
    """Mangled names that hold the types of kernels, by their PTX names."""
    lowered = {}
    for number, kernel in enumerate(kernels):
        own = f"{TYPES_KERNEL}{number}"
        lowered[kernel.rpartition("::")[2]] = next(
            entry for entry in _ENTRY.findall(ptx) if entry.startswith(f"_Z{len(own)}{own}I")
        )
    return lowered


def without_added(ptx: str) -> str:
    """The PTX without the kernels that only hold names."""
    return _ADDED.sub("", ptx)


def with_user_places(ptx: str, written: Callable[[str], str | None]) -> str:
    """The PTX with files by the names that `written` gives them; one without a name is not the user's, and code of
    his that it was inlined into keeps its own line: clang does not say where that is.
    """
    files: Mapping[str, str | None] = {match["index"]: written(match["path"]) for match in _FILE.finditer(ptx)}
    ptx = _LOC.sub(lambda match: match[0] if files.get(match["file"]) is not None else "", ptx)
    return _FILE.sub(lambda match: f'{match[1]}{match["index"]} "{files[match["index"]] or match["path"]}"', ptx)


def missing_math(ptx: str) -> str | None:
    """A function of libdevice that the PTX calls and does not have."""
    match = _MATH.search(ptx)
    return match["name"] if match else None


def _lowered(number: int, entries: list[str]) -> str:
    """A name that stands in the template argument of another: there what is written before is counted, too."""
    own = f"{NAME_KERNEL}{number}"
    start = re.compile(rf"_Z{len(own)}{own}I(?:TnDa)?XadL(?P<inner>_Z\w+)EEEvv")
    inner = next(match["inner"] for match in map(start.fullmatch, entries) if match)
    candidates = [entry for entry in entries if not re.match(rf"_Z\d+{NAME_KERNEL}", entry)]
    counted = _SUBSTITUTION.sub(lambda match: f"S{_previous_index(match['index'])}_", inner)
    for guess in (counted, source_name(inner)):
        if guess in candidates:
            return guess
    matching = [entry for entry in candidates if _SUBSTITUTION.sub("S_", entry) == _SUBSTITUTION.sub("S_", inner)]
    if len(matching) != 1:
        raise RuntimeError(f"the lowered name of {inner} is not among {', '.join(candidates)}")
    return matching[0]


def _previous_index(index: str) -> str:
    """The index before in base 36, where "" stands before "0"."""
    digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    if index in ("", "0"):
        return ""
    number, text = int(index, 36) - 1, ""
    while number or not text:
        number, digit = divmod(number, 36)
        text = digits[digit] + text
    return text
