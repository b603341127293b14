"""Which of a problem's parameters a kernel's own ones are: by their names, and by their places where names differ."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

_AFFIXES = re.compile(r"^(?:d|dev|g|gpu|p|h)_|_?(?:ptr|pointer|tensor|array|arr|buf|buffer|dev|gpu|d)$")
_POINTER = re.compile(r"(?:ptr|pointer|tensor|array|arr|buf|buffer)$|^p_")
_OUTPUTS = frozenset({"out", "output", "outputs", "o", "dst", "dest", "result", "results", "res"})
_INPUTS = frozenset({"in", "inp", "input", "inputs", "src", "source"})
_COUNTS = frozenset({"n", "size", "count", "len", "length", "numel", "num", "n_elements", "num_elements", "nelem",
                     "n_elem", "elements", "total"})  # fmt: skip


@dataclass(frozen=True, slots=True)
class ProblemParameter:
    """A parameter of the problem: `role` is "in", "out", "inout" or "scalar"."""

    name: str
    role: str


_MATCHED, _BY_POSITION = "parameters matched by", "position"


@dataclass(frozen=True, slots=True)
class Match:
    """For each of a kernel's parameters the place of the problem's; `note` is empty where all names agree."""

    order: tuple[int, ...]
    note: str


def match(kernel: str, own: Sequence[str], parameters: Sequence[ProblemParameter]) -> Match:
    """Match by equal names, then by names without the likes of `_ptr`, then by what they mean, the rest by place.

    ValueError where a parameter is left over.
    """
    positions: dict[str, int] = {}
    for key in (str, _plain, lambda name: _meaning(name, parameters)):
        _by_key(positions, own, parameters, key)
    unmatched = [name for name in own if name not in positions]
    free = [index for index in range(len(parameters)) if index not in positions.values()]
    if len(unmatched) != len(free) and (unmatched or any(parameters[index].role != "scalar" for index in free)):
        raise ValueError(_count_mismatch(kernel, own, unmatched, [parameters[index] for index in free], parameters))
    positions |= dict(zip(unmatched, free, strict=False))
    order = tuple(positions[name] for name in own)
    return Match(order, _note(own, order, parameters, _BY_POSITION if unmatched else "name"))


def likely_order(own: Sequence[str], parameters: Sequence[ProblemParameter]) -> tuple[int, ...] | None:
    """The problem's places that a kernel's names speak for, where every name speaks and they are all different."""
    order: dict[str, int] = {}
    for key in (str, _plain, lambda name: _meaning(name, parameters)):
        _by_key(order, own, parameters, key)
    return tuple(order[name] for name in own) if len(order) == len(own) == len(parameters) else None


def _by_key(order: dict[str, int], own: Sequence[str], parameters: Sequence[ProblemParameter], key: object) -> None:
    """Adds the pairs of names whose key is equal and nobody else's."""
    assert callable(key)
    own_keys = [(key(name), name) for name in own if name not in order]
    parameter_keys = [
        (key(parameter.name), index) for index, parameter in enumerate(parameters) if index not in order.values()
    ]
    for name_key, name in own_keys:
        candidates = [
            index for other, index in parameter_keys if other == name_key and _may_be(name, parameters[index])
        ]
        if len(candidates) == 1 and sum(other == name_key for other, _ in own_keys) == 1:
            order[name] = candidates[0]


def _may_be(name: str, parameter: ProblemParameter) -> bool:
    """A name that speaks of memory is not that of a number: `k_ptr` is keys, and not the size K."""
    return parameter.role != "scalar" or not _POINTER.search(name.lower())


def _plain(name: str) -> str:
    return _AFFIXES.sub("", _AFFIXES.sub("", name.lower())) or name.lower()


def _meaning(name: str, parameters: Sequence[ProblemParameter]) -> str:
    """One word for all names of the only output, of the only input, of the only number."""
    plain = _plain(name)
    for role, words in (("out", _OUTPUTS), ("in", _INPUTS), ("scalar", _COUNTS)):
        of_role = [parameter.name for parameter in parameters if parameter.role == role]
        if len(of_role) == 1 and (plain in words or name in of_role):
            return f"<{role}>"
    return plain


def named(notes: Sequence[str]) -> bool:
    """Whether a match with these notes took every parameter by its name."""
    return not any(note.startswith(f"{_MATCHED} {_BY_POSITION}") for note in notes)


def _note(own: Sequence[str], order: Sequence[int], parameters: Sequence[ProblemParameter], by: str) -> str:
    if all(name == parameters[index].name for name, index in zip(own, order, strict=True)):
        return ""
    pairs = ", ".join(f"{name} = {parameters[index].name}" for name, index in zip(own, order, strict=True))
    return f"{_MATCHED} {by}: {pairs}"


def _count_mismatch(
    kernel: str,
    own: Sequence[str],
    unmatched: Sequence[str],
    free: Sequence[ProblemParameter],
    parameters: Sequence[ProblemParameter],
) -> str:
    gives = ", ".join(parameter.name for parameter in parameters)
    if len(unmatched) > len(free):
        missing = ", ".join(unmatched)
        return (
            f"{kernel}({', '.join(own)}): nothing is known of {missing}; the problem gives {gives}. A number that "
            f"follows from its sizes is given in a line such as `# arguments: {unmatched[-1]}={parameters[-1].name}`, "
            f"a tl.constexpr in `# constants: {unmatched[-1]}=…`"
        )
    lacks = ", ".join(parameter.name for parameter in free)
    return f"{kernel}({', '.join(own)}) has no parameter for {lacks}; the problem gives {gives}"
