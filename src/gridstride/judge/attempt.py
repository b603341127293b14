"""Runs a kernel on one input and says what it left behind; whether that is right is for others to say.

Needs no expected values, so that it can be done in a process that must not know them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from gridstride.judge.buffers import Buffers
from gridstride.judge.problem import Array, Case, Signature, Values
from gridstride.judge.symbols import ExpressionError
from gridstride.judge.verdict import Finding
from gridstride.protocol import Device, DeviceError, LaunchError
from gridstride.virtual.errors import UnsupportedInstruction
from gridstride.virtual.observe.findings import KernelFault

Results = dict[str, Array]
_SHORT = 6_000_000  # instructions of warps: some 0.7 s under the sanitizer


@dataclass(frozen=True, slots=True)
class Attempt:
    """What each run left in the arrays that the kernel may write; where something was found, the runs before that."""

    findings: tuple[Finding, ...]
    results: tuple[Results, ...] = ()


@dataclass(frozen=True, slots=True)
class Observed:
    """One run with counters; `run` is None where it could not be made."""

    findings: tuple[Finding, ...]
    run: Any = None
    results: Results | None = None


class Launchable(Protocol):
    """A kernel on a device."""

    @property
    def device(self) -> Device: ...

    def run(self, case: Case, arguments: Sequence[Any]) -> None:
        """Launch once and wait."""

    def observe(self, case: Case, arguments: Sequence[Any]) -> Any:
        """Launch once with counters and sanitizer; gives the run, None where there is nothing to launch."""


def attempt(kernel: Launchable, signature: Signature, case: Case, inputs: Sequence[Values]) -> Attempt:
    """Run the first input twice, then each of the others once, all in the same memory.

    Outputs are poisoned before each run, in another way each time. The first run on the virtual GPU is under the
    sanitizer, and so are the others where they are short: what is saved by running them without it is less than what
    compiling the kernel for that takes.
    """
    results: list[Results] = []
    sanitized = kernel.device.kind == "virtual"
    try:
        buffers = Buffers(kernel.device, signature, case.sizes, inputs[0], offset=case.offset)
        for run, values in enumerate((inputs[0], *inputs)):
            buffers.fill(run % 2, values)
            found: tuple[Finding, ...] = ()
            if sanitized:
                seen = kernel.observe(case, buffers.arguments)
                if seen is not None:
                    found, sanitized = translated(seen.findings), seen.counters.instructions < _SHORT
            else:
                kernel.run(case, buffers.arguments)
            found = found or _touched(buffers)
            if found:
                return Attempt(found, tuple(results))
            results.append(buffers.results())
    except _REFUSALS as error:
        return Attempt(_refused(error), tuple(results))
    return Attempt((), tuple(results))


def observed(kernel: Launchable, signature: Signature, case: Case, inputs: Values) -> Observed:
    """Run once with counters."""
    try:
        buffers = Buffers(kernel.device, signature, case.sizes, inputs)
        buffers.fill(0)
        run = kernel.observe(case, buffers.arguments)
    except _REFUSALS as error:
        return Observed(_refused(error))
    return Observed(translated(run.findings), run, buffers.results())


_REFUSALS = (KernelFault, LaunchError, ExpressionError, UnsupportedInstruction, DeviceError)


def _refused(error: Exception) -> tuple[Finding, ...]:
    if isinstance(error, KernelFault):
        return translated(error.findings)
    if isinstance(error, UnsupportedInstruction):
        return (Finding("unsupported", str(error), error.line),)
    return (Finding("fault" if isinstance(error, DeviceError) else "launch", str(error)),)


def translated(findings: Iterable[Any]) -> tuple[Finding, ...]:
    """The virtual GPU's findings as the judge's; those of one kind on one line are one."""
    kept: dict[tuple[str, int | None], Finding] = {}
    for found in findings:
        place = {"block": found.block, "thread": found.thread} if found.thread is not None else None
        kept.setdefault((found.kind, found.line), Finding(found.kind, found.message, found.line, place))
    return tuple(kept.values())


def _touched(buffers: Buffers) -> tuple[Finding, ...]:
    found = [Finding("input_changed", f"the kernel wrote to its input {name}") for name in buffers.changed_inputs()]
    for name, distance in buffers.broken_guards():
        where = f"{-distance} bytes before {name}" if distance < 0 else f"{distance} bytes past the end of {name}"
        found.append(Finding("out_of_bounds", f"the kernel wrote {where}"))
    return tuple(found)
