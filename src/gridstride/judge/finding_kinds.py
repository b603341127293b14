"""Every kind of finding that a verdict can have: those of a run on the virtual GPU, and the judge's own."""

from __future__ import annotations

import difflib
from dataclasses import dataclass

from gridstride.virtual.abi.finding_kinds import KINDS as OF_RUNS


@dataclass(frozen=True, slots=True)
class VerdictKind:
    """One kind. `fault`: counted among a verdict's faults; what it means is one sentence."""

    fault: bool
    meaning: str


_OWN: dict[str, VerdictKind] = {
    "compile_error": VerdictKind(False, "it does not compile, or compiling it took more than it may"),
    "launch": VerdictKind(False, "parameters, launch shape or header do not fit the problem, or hardware refuses them"),
    "wrong_result": VerdictKind(False, "an output is further from the reference than any correct kernel's"),
    "unrepeatable": VerdictKind(False, "two runs on the same data left different bits"),
    "input_changed": VerdictKind(True, "it wrote to an input, even where it put back what was there"),
    "fault": VerdictKind(True, "it ended the process or the CUDA context that it ran in"),
    "unsupported": VerdictKind(False, "an instruction that the virtual GPU does not have"),
    "incomplete": VerdictKind(False, "it was not run on every class of cases"),
    "too_fast": VerdictKind(False, "a measured time that the chip does not allow"),
    "clocks_disagree": VerdictKind(False, "a measured time that two clocks do not agree on"),
}

KINDS: dict[str, VerdictKind] = _OWN | {name: VerdictKind(row.fault, row.meaning) for name, row in OF_RUNS.items()}


def is_fault(kind: str) -> bool:
    """Whether a finding of the kind stopped the kernel or touched what is not its own; of an unknown one, yes."""
    return kind not in KINDS or KINDS[kind].fault


def unknown_kind(kind: str) -> str:
    """Why `kind` is none, with the one that is meant; empty where it is one."""
    if kind in KINDS:
        return ""
    near = difflib.get_close_matches(kind.lower().replace("-", "_"), KINDS, n=1)
    return f"{kind!r} is no kind of finding: {f'did you mean {near[0]}?' if near else f'there are {_listed()}'}"


def _listed() -> str:
    return ", ".join(sorted(KINDS))
