"""Whole kernels from `kernels/*.cu`, each with its launch, its check against NumPy and its wrong twins.

A `Case` runs on the device in use: `run(text)` launches the text's kernels, asserts that the results are right and
returns them, so that two machines can be compared. A `Twin` is the same text with a mistake and the findings it earns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import gridstride as gs

KERNELS = Path(__file__).parents[1] / "kernels"


@dataclass(frozen=True)
class Twin:
    """A mistake: what is replaced, by what, and the kinds of findings of which one must come first."""

    what: str
    old: str
    new: str
    kinds: tuple[str, ...] = ("race",)


@dataclass(frozen=True)
class Case:
    """A name, the text, how to run and check it, and what goes wrong in its twins."""

    name: str
    text: str
    run: Callable[[str], np.ndarray]
    twins: tuple[Twin, ...] = ()
    exact: bool = True
    """Whether two machines agree to the bit."""


def text_of(name: str, **macros: int) -> str:
    """The text of a kernel file, with macros as its first lines."""
    return "".join(f"#define {macro} {value}\n" for macro, value in macros.items()) + (KERNELS / name).read_text()


def compiled(text: str) -> gs.Module:
    """The module of a text that may include what lies in `kernels`."""
    return gs.cuda(text, include_paths=(str(KERNELS),))


def check(case: Case) -> np.ndarray:
    """Runs the case on the device in use."""
    return case.run(case.text)


def check_twin(case: Case, twin: Twin) -> None:
    """The sanitizer, in the device in use, finds the twin's mistake."""
    assert case.text.count(twin.old) >= 1, f"{twin.old!r} is not in the text"
    with pytest.raises(gs.KernelFault) as caught:
        case.run(case.text.replace(twin.old, twin.new, 1))
    found = [each.kind for each in caught.value.findings] or [caught.value.kind]
    assert set(found) & set(twin.kinds), (found, str(caught.value))
    assert caught.value.line is not None


def machine_of(kind: str) -> Iterator[str]:
    """The device named is in use: "fast" and "observed" are the builds of the virtual GPU, else "physical"."""
    made = "physical" if kind == "physical" else gs.VirtualGPU(workers=2, memory=256 << 20, time_limit=20,
                                                               sanitize=kind == "observed")  # fmt: skip
    with gs.use(made):
        yield kind


MACHINES = ["fast", "observed", pytest.param("physical", marks=pytest.mark.gpu)]


def each(cases: list[Case]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("case", cases, ids=lambda c: c.name)


def each_twin(cases: list[Case]) -> pytest.MarkDecorator:
    pairs = [pytest.param(c, t, id=f"{c.name}-{t.what}") for c in cases for t in c.twins]
    return pytest.mark.parametrize(("case", "twin"), pairs)
