"""From a kernel file to something that can be launched: compiled, with its entry and its launch shape."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from gridstride.compiler import CompileError
from gridstride.device.choice import use
from gridstride.device.kernel import Kernel
from gridstride.device.module import Module, cuda
from gridstride.judge.access_map import Access, accesses
from gridstride.judge.attempt import Attempt, Observed, attempt, observed
from gridstride.judge.blame import Blame, blame
from gridstride.judge.expected import check_parameters
from gridstride.judge.header import KernelFile, Launch, LaunchShape
from gridstride.judge.problem import Array, Case, Problem, Signature, Sizes, Values
from gridstride.judge.verdict import Finding
from gridstride.protocol import Device, DeviceError, UnknownName

_DEVICE_CODE = (
    "\nA submission is device code: leave main() and all that runs on the host out, the judge launches the kernel."
)
MULTIPROCESSORS = "SMS"  # what a launch expression calls the number of multiprocessors


class RefusedError(Exception):
    """A kernel that cannot be run at all; `finding` says why."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(finding.message)
        self.finding = finding


@dataclass(frozen=True, slots=True)
class Runnable:
    """A compiled kernel on a device with the way it is launched."""

    kernel: Kernel
    launch: Launch
    device: Device

    def shape(self, sizes: Sizes, multiprocessors: int | None = None) -> LaunchShape:
        """Grid and block for these sizes on this device, or on one of so many multiprocessors."""
        many = multiprocessors or self.device.properties.multiprocessors
        return self.launch.shape({**sizes, MULTIPROCESSORS: many})

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

    def accesses(self, signature: Signature, case: Case, inputs: Values, lines: Iterable[int]) -> tuple[Access, ...]:
        """What the lanes of one warp touch on these lines."""
        with use(self.device):
            return accesses(self, signature, case, inputs, lines)

    def renewed(self) -> Runnable:
        """The same with the module loaded anew: its variables know nothing of earlier launches."""
        with use(self.device):
            return replace(self, kernel=self.kernel.renewed())

    def run(self, case: Case, arguments: Sequence[Any]) -> None:
        """Launch once and wait; a grid of 0 is not launched."""
        shape = self.shape(case.sizes, case.multiprocessors)
        if not all(shape.grid):
            return
        with use(self.device):
            self.kernel.launch(grid=shape.grid, block=shape.block, args=tuple(arguments), shared=shape.shared)
            self.device.synchronize()

    def observe(self, case: Case, arguments: Sequence[Any]) -> Any:
        """Launch once on the virtual GPU with counters and sanitizer; gives the run, None for a grid of 0."""
        shape = self.shape(case.sizes, case.multiprocessors)
        if not all(shape.grid):
            return None
        with use(self.device):
            return self.kernel.observe(shape.grid, shape.block, shape.shared)(*arguments)


def build(problem: Problem, kernel: KernelFile, device: Device) -> Runnable:
    """Compile a kernel file for a device; RefusedError with the finding when that is not possible."""
    return build_for(problem.signature, kernel, launch_of(problem, kernel), device)


def launch_of(problem: Problem, kernel: KernelFile) -> Launch:
    """How the kernel is launched; RefusedError where nobody says."""
    launch = kernel.launch or problem.launch
    if launch is not None:
        return launch
    sizes = ", ".join(problem.sizes)
    message = f"no launch shape: open the file with lines `// grid: …` and `// block: …` over {sizes}"
    raise RefusedError(Finding("launch", message))


def build_for(signature: Signature, kernel: KernelFile, launch: Launch, device: Device) -> Runnable:
    """The same where only the parameters are known; a kernel with others is refused."""
    try:
        with use(device):
            module = cuda(kernel.source, filename=kernel.filename)
            found = module[_entry(module, kernel.entry)]
            check_parameters(signature, found.name, found.bound().parameters)
            return Runnable(found, launch, device)
    except CompileError as error:
        message = f"{error}{_DEVICE_CODE if 'host functions are not allowed' in str(error) else ''}"
        raise RefusedError(Finding("compile_error", message, line=error.line)) from error
    except (UnknownName, DeviceError, ValueError) as error:
        raise RefusedError(Finding("launch", str(error))) from error


def _entry(module: Module, wanted: str | None) -> str:
    """The kernel of that name, or the only one; ValueError where it is a template whose arguments nobody gave."""
    names = module.kernels
    if wanted is None and len(names) != 1:
        raise ValueError(_choice(names))
    for name in names:
        base, template, _ = name.partition("<")
        if template and wanted in (None, base):
            raise ValueError(f"the kernel is a template, {name}: give its arguments in a line `// entry: {base}<…>`")
    return wanted or names[0]


def _choice(names: Sequence[str]) -> str:
    found = f"the file has {len(names)} kernels ({', '.join(names)})" if names else "the file has no __global__ kernel"
    return f"{found}: name the one to judge in a line `// entry: …`"
