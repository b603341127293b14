"""From a kernel file to something that can be launched: compiled, with its entry and its launch shape."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from gridstride.compiler import Compiled, CompileError, CompileWarning
from gridstride.compiler.includes import ADD_ITS_FOLDER
from gridstride.compiler.ways_out import COMPILE_RELOCATABLE
from gridstride.device.choice import use
from gridstride.device.launch.kernel import Kernel
from gridstride.device.launch.shape import check_shape
from gridstride.device.modules.module import Module, compiled_module, cuda
from gridstride.judge.cases.path_cases import MOST_WATCHED, VariableUse
from gridstride.judge.execution.access_map import WarpAccess, accesses
from gridstride.judge.execution.attempt import Attempt, Observed, attempt, observed
from gridstride.judge.execution.blame import Blame, blame
from gridstride.judge.execution.kernel_facts import KernelFacts
from gridstride.judge.execution.lane_timeline import TimelineStep, way_of_a_warp
from gridstride.judge.expected import check_parameters
from gridstride.judge.header import MULTIPROCESSORS, KernelFile, LaunchShape, SymbolicLaunch, stray_grid
from gridstride.judge.likely_launch import cuda_header
from gridstride.judge.problem import Array, Case, Order, Problem, Signature, Sizes, Values
from gridstride.judge.starter import header_lines
from gridstride.judge.verdict import Finding
from gridstride.protocol import Device, DeviceError, LaunchError, Shape, UnknownName
from gridstride.virtual.errors import source_name
from gridstride.virtual.gpu import VirtualGPU
from gridstride.virtual.launch.virtual_kernel import VirtualKernel, resident_blocks
from gridstride.virtual.machine.schedule import IN_STEP, IN_TURN, REVERSED, Schedule, seeded
from gridstride.virtual.ptx.syntax_errors import PtxError

_ONE_FILE = "a submission is one file, which includes CUDA's headers and no others: copy into it what the kernel needs"
_ONE_KERNEL = "a submission is one kernel, which launches no others: call a __device__ function instead"

MOST_LOCAL = 512 << 10  # bytes for each thread (CUDA C++ Programming Guide, "Technical Specifications")
_LESS_LOCAL = "make the arrays of each thread smaller, or have them in global memory"


class RefusedError(Exception):
    """A kernel that cannot be run at all; `finding` says why."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(finding.message)
        self.finding = finding


@dataclass(frozen=True, slots=True)
class Runnable:
    """A compiled kernel on a device with the way it is launched."""

    kernel: Kernel
    launch: SymbolicLaunch
    device: Device
    facts: KernelFacts = field(default_factory=KernelFacts)

    def shape(self, sizes: Sizes, multiprocessors: int | None = None) -> LaunchShape:
        """Grid and block for these sizes on this device, or on one of so many multiprocessors."""
        count = multiprocessors or self.device.properties.multiprocessors
        return self.launch.shape({**sizes, MULTIPROCESSORS: count})

    def attempt(self, signature: Signature, case: Case, inputs: Sequence[Values]) -> Attempt:
        """Run the inputs in the same memory, the first one twice."""
        return attempt(self, signature, case, inputs)

    def observed(self, signature: Signature, case: Case, inputs: Values) -> Observed:
        """Run once with counters, with what came of it."""
        return observed(self, signature, case, inputs)

    def blame(
        self, signature: Signature, case: Case, inputs: Values, name: str, wrong: Array, unwritten: Array
    ) -> Blame | None:
        """Who is behind the first wrong element of an output; None where nobody can tell."""
        with use(self.device):
            return blame(self, signature, case, inputs, name, wrong, unwritten)

    def accesses(
        self, signature: Signature, case: Case, inputs: Values, lines: Iterable[int]
    ) -> tuple[WarpAccess, ...]:
        """What the lanes of one warp touch on these lines."""
        with use(self.device):
            return accesses(self, signature, case, inputs, lines)

    def way_of_a_warp(self, signature: Signature, case: Case, inputs: Values) -> tuple[TimelineStep, ...]:
        """Which lanes of the first warp were on in each stretch of its way; nothing where that cannot be seen."""
        with use(self.device):
            return way_of_a_warp(self, signature, case, inputs)

    def refusal(self, sizes: Sizes) -> str:
        """Why hardware would refuse the launch for these sizes, without running it; empty where it would not."""
        shape = self.shape(sizes)
        bound = self.kernel.bound()
        requested = Shape(shape.grid, shape.block, shape.shared, self.launch.cooperative)
        try:
            check_shape(requested, self.kernel.name, bound.kernel, self.device)
            if isinstance(self.device, VirtualGPU):
                shared = bound.kernel.static_shared + shape.shared
                resident_blocks(self.device.model, requested, shared, self.kernel.name)
        except LaunchError as error:
            return str(error)
        return _too_much_local(bound.kernel, self.device) if isinstance(self.device, VirtualGPU) else ""

    def renewed(self) -> Runnable:
        """The same with the module loaded anew: its variables know nothing of earlier launches."""
        with use(self.device):
            return replace(self, kernel=self.kernel.renewed())

    def variables(self) -> tuple[VariableUse, ...]:
        """The variables of its module that the last observed run wrote to; larger ones than MOST_WATCHED left out."""
        with use(self.device):
            kernel = self.kernel.bound().kernel
        written = kernel.module.written(MOST_WATCHED) if isinstance(kernel, VirtualKernel) else {}
        return tuple(VariableUse(source_name(name), *use) for name, use in written.items() if use[1])

    def run(self, case: Case, arguments: Sequence[Any], order: Order | None = None) -> None:
        """Launch once, the blocks in turn or in another order, and wait; a grid of 0 is not launched."""
        shape = self.shape(case.sizes, case.multiprocessors)
        if not all(shape.grid):
            return
        with use(self.device), scheduled(self.device, order):
            cooperative = self.launch.flags
            self.kernel.launch(
                grid=shape.grid, block=shape.block, args=tuple(arguments), shared=shape.shared, **cooperative
            )
            self.device.synchronize()

    def observe(self, case: Case, arguments: Sequence[Any], order: Order | Literal["any"] | None = None) -> Any:
        """The same on the virtual GPU with counters and sanitizer; gives the run, None for a grid of 0."""
        shape = self.shape(case.sizes, case.multiprocessors)
        if not all(shape.grid):
            return None
        if order == "any" and self.facts.looks:  # how often would depend on this machine's cores
            order = None
        with use(self.device), scheduled(self.device, order):
            return self.kernel.observe(shape.grid, shape.block, shape.shared, **self.launch.flags)(*arguments)


def _too_much_local(kernel: Any, gpu: VirtualGPU) -> str:
    """Why hardware has no room for the kernel's local memory; empty where it has. The driver sets aside what every
    thread needs that the multiprocessors can hold, however small the grid (CUDA C++ Programming Guide, "Local Memory").
    """
    local, p = kernel.local_bytes, gpu.properties
    if local > MOST_LOCAL:
        return f"{local:,} bytes of local memory are above the {MOST_LOCAL:,} that a thread may have: {_LESS_LOCAL}"
    threads = p.multiprocessors * p.max_threads_per_multiprocessor
    if local * threads <= p.total_memory:
        return ""
    return (
        f"{local:,} bytes of local memory for each of the {threads:,} threads that {p.name} holds are more than its "
        f"{p.total_memory:,} bytes of memory: {_LESS_LOCAL}"
    )


_PATIENCE = 9 << 17  # rounds: who counts them mostly gives up after a thousand, or a million or 2^20
_SCHEDULES: dict[Order | None, Schedule] = {
    None: IN_TURN,
    "reversed": replace(REVERSED, patience=_PATIENCE),
    "seeded": replace(seeded(1), patience=_PATIENCE),
    "in step": IN_STEP,
    "one at a time": replace(REVERSED, resident=1),  # who waits for the block before it waits for ever
}


def scheduled(device: Device, order: Order | Literal["any"] | None) -> AbstractContextManager[object]:
    """Launches within have their blocks and warps in this order (None: in turn) and run on one core, so that a verdict
    is the same each time; with "any" on all cores. Hardware has its own order.
    """
    if order == "any" or not isinstance(device, VirtualGPU):
        return nullcontext()
    return device.scheduled(_SCHEDULES[order])


def build(problem: Problem, kernel: KernelFile, device: Device) -> Runnable:
    """Compile a kernel file for a device; RefusedError with the finding when that is not possible."""
    return build_for(problem.signature, kernel, launch_of(problem, kernel), device)


def launch_of(problem: Problem, kernel: KernelFile) -> SymbolicLaunch:
    """How the kernel is launched; RefusedError where nobody says."""
    launch = kernel.launch or problem.launch
    if launch is not None:
        return launch
    read = cuda_header(problem.signature, kernel)
    lines = "\n".join(read or header_lines(problem))
    if line := stray_grid(kernel.source):
        below = f"the launch shape is read from the comment that opens the file, line {line} is too far down"
        raise RefusedError(Finding("launch", f"{below}: move it and its neighbours to the top, such as\n{lines}", line))
    why = "as its indices go" if read else "one thread for each result"
    message = (
        f"no launch shape: open the file with its grid and block over {', '.join(problem.sizes)}, such as\n{lines}\n"
        f"({why}; `gridstride problem show {problem.name}` prints a whole file to start from)"
    )
    raise RefusedError(Finding("launch", message))


def build_for(
    signature: Signature, kernel: KernelFile, launch: SymbolicLaunch, device: Device, compiled: Compiled | None = None
) -> Runnable:
    """The same where only the parameters are known, and of what was compiled before; a kernel with other parameters is
    refused.
    """
    try:
        with use(device), warnings.catch_warnings():
            warnings.simplefilter("ignore", CompileWarning)  # the verdict shows them
            module = compiled_module(compiled) if compiled else cuda(kernel.source, filename=kernel.filename)
            loaded = module[_entry(module, kernel.entry)]
            doubt = check_parameters(signature, loaded.name, loaded.bound().parameters)
            facts = KernelFacts.of(module.ptx, warnings=module.warnings, notes=(doubt,) if doubt else ())
            return Runnable(loaded, launch, device, facts)
    except CompileError as error:
        raise refusal_of(error) from error
    except PtxError as error:
        raise RefusedError(Finding("compile_error", str(error), line=error.line)) from error
    except (UnknownName, DeviceError, ValueError) as error:
        raise RefusedError(Finding("launch", str(error))) from error


def refusal_of(error: CompileError) -> RefusedError:
    """The finding of a submission that does not compile."""
    message = str(error).replace(ADD_ITS_FOLDER, _ONE_FILE).replace(COMPILE_RELOCATABLE, _ONE_KERNEL)
    return RefusedError(Finding("compile_error", message, line=error.line))


def _entry(module: Module, entry: str | None) -> str:
    """The kernel of that name, or the only one; ValueError where it is a template whose arguments nobody gave."""
    names = module.kernels
    if entry is None and len(names) != 1:
        raise ValueError(_choice(names))
    for name in names:
        base, template, _ = name.partition("<")
        if template and entry in (None, base):
            raise ValueError(f"the kernel is a template, {name}: give its arguments in a line `// entry: {base}<…>`")
    return entry or names[0]


def _choice(names: Sequence[str]) -> str:
    reason = f"the file has {len(names)} kernels ({', '.join(names)})" if names else "the file has no __global__ kernel"
    return f"{reason}: name the one to judge in a line `// entry: …`"
