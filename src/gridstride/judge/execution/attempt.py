"""Runs a kernel on one input and says what it left behind; whether that is right is for others to say.

Needs no expected values, so that it can be done in a process that must not know them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol

from gridstride.judge.cases.path_cases import UNKNOWN_PATH, KernelPath, VariableUse
from gridstride.judge.execution.buffers import Buffers
from gridstride.judge.problem import Array, Case, Order, Signature, Values
from gridstride.judge.symbols import ExpressionError
from gridstride.judge.verdict import Finding
from gridstride.protocol import Device, DeviceError, LaunchError
from gridstride.virtual.errors import UnsupportedInstruction
from gridstride.virtual.findings.finding import KernelFault
from gridstride.virtual.findings.value_messages import UNFILLED
from gridstride.virtual.gpu import VirtualGPU

Results = dict[str, Array]
_ORDER = "Are the kernel's parameters in the problem's order,"
_FAR = 1 << 22  # elements of an array
_SHORT = 6_000_000  # instructions of warps: some 0.7 s under the sanitizer


@dataclass(frozen=True, slots=True)
class Attempt:
    """What each run left in the arrays that the kernel may write; where something was found, the runs before that.
    `path` is that of the first run.
    """

    findings: tuple[Finding, ...]
    results: tuple[Results, ...] = ()
    path: KernelPath = UNKNOWN_PATH


@dataclass(frozen=True, slots=True)
class Observed:
    """One run with counters; `run` is None where it could not be made."""

    findings: tuple[Finding, ...]
    run: Any = None
    results: Results | None = None


class Launchable(Protocol):
    """A kernel on a device."""

    def renewed(self) -> Launchable:
        """The same with the module loaded anew: its variables know nothing of earlier launches."""

    @property
    def device(self) -> Device: ...

    def variables(self) -> tuple[VariableUse, ...]:
        """The variables of its module that the last observed run wrote to."""

    def run(self, case: Case, arguments: Sequence[Any], order: Order | None = None) -> None:
        """Launch once, the blocks in turn or in another order, and wait."""

    def observe(self, case: Case, arguments: Sequence[Any], order: Order | Literal["any"] | None = None) -> Any:
        """The same with counters and sanitizer, on all cores with "any"; gives the run, None where none is launched."""


@dataclass(frozen=True, slots=True)
class AttemptStep:
    """One of the runs that make an attempt: which of the inputs, in which memory, in the case's order or in turn."""

    values: int
    memory: int
    ordered: bool


def steps(case: Case, inputs: int) -> tuple[AttemptStep, ...]:
    """The runs on so many inputs: the first one twice, in turn and in the case's order, in the same memory; the others
    once, in the order that the run before had, in the same memory or in other memory.

    What a kernel keeps from a launch shows when its blocks find it in another order than they left it, and on other
    data; what it keeps from every other launch, when the number of launches is odd.
    """
    if case.once:
        return (AttemptStep(0, 0, case.swapped),)
    first = [AttemptStep(0, 0, ordered_first(case, 0) != second) for second in (False, True)]
    return (*first, *(AttemptStep(number, case.seed % 2, ordered_first(case, number)) for number in range(1, inputs)))


def ordered_first(case: Case, number: int) -> bool:
    """Whether the case's order comes before that in turn in the runs on an input: the first (0) or other data (1)."""
    return (case.fresh or case.swapped) != (number > 0)


def attempt(kernel: Launchable, signature: Signature, case: Case, inputs: Sequence[Values]) -> Attempt:
    """Run the inputs as `steps` says.

    Outputs are poisoned before each run, in another way each time. The first run on the virtual GPU is under the
    sanitizer, and so are the others where they are short: what is saved by running them without it is less than what
    compiling the kernel for that takes.
    """
    results: list[Results] = []
    watchable = kernel.device.kind == "virtual" and not _far(signature, case)
    sanitized = watchable
    memory: list[Buffers] = []
    order: Order | None = None
    findings: tuple[Finding, ...] = ()
    path = UNKNOWN_PATH
    try:
        # A program's GPU has as many multiprocessors from its first launch to its last.
        kernel = kernel.renewed() if case.fresh or case.multiprocessors else kernel
        for number, step in enumerate(steps(case, len(inputs))):
            values = inputs[step.values]
            if step.memory == len(memory):
                memory.append(Buffers.of_case(kernel.device, signature, case, values))
            buffers = memory[step.memory]
            buffers.fill(number % 2, values)
            order = case.order if step.ordered else None
            if sanitized or (watchable and order == "in step"):  # only what is watched comes in step
                with _reading_only(kernel.device, buffers):
                    observed = kernel.observe(case, buffers.arguments, order)
                if observed is not None:
                    path = path if path.outcomes else _path(kernel, observed)
                    findings, sanitized = translated(observed.findings, buffers), observed.model.instructions < _SHORT
            else:
                kernel.run(case, buffers.arguments, order)
            findings = findings or _touched(buffers)
            if findings:
                break
            results.append(buffers.results())
    except _REFUSALS as error:
        findings = _refused(error)
    if findings and order is not None:
        if not results and (usual := _in_block_order(kernel, signature, case, inputs)):
            return Attempt(usual)
        # Of two runs on an input the one in turn was the first, and found nothing, or has just been made.
        findings = _in_order(findings, order, only_in_order=not results or len(results) % 2 == 1)
    return Attempt(findings, tuple(results), path)


def _far(signature: Signature, case: Case) -> bool:
    """Whether the arrays are so large that a run under the sanitizer would take all of a verdict's time."""
    arrays = [signature.shape(p, case.sizes) for p in signature.parameters if p.shape]
    return max((math.prod(shape) for shape in arrays), default=0) > _FAR


def _path(kernel: Launchable, observed: Any) -> KernelPath:
    model = observed.model
    return KernelPath(model.outcomes, model.unreached, kernel.variables(), exact=model.exact)


def _in_block_order(
    kernel: Launchable, signature: Signature, case: Case, inputs: Sequence[Values]
) -> tuple[Finding, ...]:
    """What is found in the first run of a case whose blocks go in another order first, had they gone in turn."""
    return attempt(kernel, signature, replace(case, fresh=True, once=True, swapped=False), inputs[:1]).findings


def _reading_only(device: Device, buffers: Buffers) -> AbstractContextManager[object]:
    """Launches within are watched for stores to the inputs: what is put back afterwards was written all the same."""
    return device.reading_only(buffers.inputs) if isinstance(device, VirtualGPU) else nullcontext()


IN_ORDER: Mapping[Order, str] = {
    "reversed": "with the blocks started from the last to the first",
    "seeded": "with the blocks started in a random order",
    "in step": "with the blocks on the GPU in step",
    "one at a time": "with one block on the GPU at a time, the last one first",
}


def _in_order(findings: tuple[Finding, ...], order: Order, *, only_in_order: bool) -> tuple[Finding, ...]:
    """What was found in a run whose blocks went in another order says so, and whether in turn nothing was found."""
    how = f"{IN_ORDER[order]}: in turn nothing was found" if only_in_order else IN_ORDER[order]
    return tuple(replace(f, message=f"{f.message} ({how})") for f in findings)


def observed(kernel: Launchable, signature: Signature, case: Case, inputs: Values) -> Observed:
    """Run once with counters."""
    try:
        buffers = Buffers.of_case(kernel.device, signature, case, inputs)
        buffers.fill(0)
        run = kernel.observe(case, buffers.arguments, "any")
        if any(finding.kind == "race" for finding in run.findings):
            # On several cores a store of the value that is there already may be taken for a race: it is not there yet.
            buffers.fill(0)
            run = kernel.observe(case, buffers.arguments)
    except _REFUSALS as error:
        return Observed(_refused(error))
    return Observed(translated(run.findings, buffers), run, buffers.results())


_REFUSALS = (KernelFault, LaunchError, ExpressionError, UnsupportedInstruction, DeviceError)


def _refused(error: Exception) -> tuple[Finding, ...]:
    if isinstance(error, KernelFault):
        return translated(error.findings)
    if isinstance(error, UnsupportedInstruction):
        return (Finding("unsupported", str(error), error.line),)
    return (Finding("fault" if isinstance(error, DeviceError) else "launch", str(error)),)


def translated(findings: Iterable[Any], buffers: Buffers | None = None) -> tuple[Finding, ...]:
    """The virtual GPU's findings as the judge's; those of one kind on one line are one. That an input was written goes
    without saying where something else was found: arguments that are swapped, most often.
    """
    first_by_line: dict[tuple[str, int | None], Finding] = {}
    for finding in findings:
        thread_words = {"block": finding.block, "thread": finding.thread} if finding.thread is not None else None
        message = _of_an_output(finding, buffers) if buffers else finding.message
        kind = finding.kind
        if buffers and kind == "read_only_write":
            kind, message = "input_changed", _of_an_input(finding, buffers)
        first_by_line.setdefault((kind, finding.line), Finding(kind, message, finding.line, thread_words))
    causes = tuple(finding for finding in first_by_line.values() if finding.kind != "input_changed")
    return causes or tuple(first_by_line.values())


def _of_an_output(finding: Any, buffers: Buffers) -> str:
    """The message; of what is read before it is written and is an output, with what the problem has there: it is read
    by mistake, or because the kernel takes it for an input.
    """
    message = str(finding.message)
    output = buffers.output_at(finding.address) if finding.kind == "uninitialised_read" and finding.address else None
    if output is None:
        return message
    what = f". It is {output}, an output of the problem, which holds nothing before the kernel has written it. "
    return message.replace(UNFILLED, what + _in_order_of(buffers))


def _of_an_input(finding: Any, buffers: Buffers) -> str:
    """The message of a store to an input, whatever it holds in the end."""
    name = buffers.input_at(finding.address)
    did, _, _ = str(finding.message).partition(", which this launch")
    rule = "An input may not be written, not even to put it back"
    return f"the kernel wrote to its input {name}: {did}. {rule}. {_in_order_of(buffers)}"


def _in_order_of(buffers: Buffers) -> str:
    return f"{_ORDER} {', '.join(buffers.names)}?"


def without_order(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """The same for parameters that are matched by name: their order is nobody's question."""
    return tuple(replace(f, message=re.sub(rf"\.? {re.escape(_ORDER)}[^?]*\?", "", f.message)) for f in findings)


def _touched(buffers: Buffers) -> tuple[Finding, ...]:
    order = _in_order_of(buffers)
    findings = [
        Finding("input_changed", f"the kernel wrote to its input {name}. {order}") for name in buffers.changed_inputs()
    ]
    for name, distance in buffers.broken_guards():
        where = f"{-distance} bytes before {name}" if distance < 0 else f"{distance} bytes past the end of {name}"
        findings.append(Finding("out_of_bounds", f"the kernel wrote {where}"))
    return tuple(findings)
