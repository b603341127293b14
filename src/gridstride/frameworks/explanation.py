"""Which kernels torch.compile makes of a function: what each counts, and the Python lines that it comes from."""

from __future__ import annotations

import linecache
import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gridstride.frameworks.observers import observed

if TYPE_CHECKING:
    from gridstride.frameworks.inductor import KernelLines
    from gridstride.virtual.observe.run import ObservedRun

_FRAME = re.compile(r'File "([^"]+)", line (\d+)')
_OPTIONS = {"trace.provenance_tracking_level": 1, "force_disable_caches": True}


@dataclass(frozen=True, slots=True)
class PythonLine:
    """A line of the function that was compiled."""

    file: str
    line: int

    def __str__(self) -> str:
        text = linecache.getline(self.file, self.line).strip()
        return f"{os.path.basename(self.file)}:{self.line}  {text}"


@dataclass(frozen=True, slots=True)
class ExplainedKernel:
    """A kernel that torch.compile made, one launch of it, and where it comes from."""

    name: str
    run: ObservedRun
    lines: Sequence[PythonLine]

    def __str__(self) -> str:
        counters, time = self.run.counters, self.run.predicted
        head = (
            f"{self.name}: {time.ms:.3g} ms predicted, limited by {time.limiter}; "
            f"{counters.instructions:,} warp instructions, {counters.global_sectors:,} global sectors"
        )
        return "\n".join([head, *(f"    {line}" for line in self.lines)])


@dataclass(frozen=True, slots=True)
class Explanation:
    """The launches of a compiled function in their order, and the calls that PyTorch computes on the processor."""

    kernels: Sequence[ExplainedKernel]
    others: Sequence[tuple[str, Sequence[PythonLine]]]

    @property
    def predicted_ms(self) -> float:
        """Of all kernels, one after the other."""
        return sum(kernel.run.predicted.ms for kernel in self.kernels)

    def __str__(self) -> str:
        shown = [str(kernel) for kernel in self.kernels]
        for name, lines in self.others:
            shown += ["\n".join([f"{name}: left to PyTorch, on the processor", *(f"    {line}" for line in lines)])]
        return "\n".join(shown) or "no kernels"


def explain(function: Callable[..., Any], *args: Any, backward: bool = False, **named: Any) -> Explanation:
    """Compile `function` anew for the virtual GPU, call it, and list what ran; `backward`: also its sum's gradients.

    As torch._dynamo.explain does, it has PyTorch forget what it compiled before. RuntimeError where a physical GPU is.
    """
    import torch

    from gridstride.frameworks.activation import Activation
    from gridstride.frameworks.inductor import compiled, graphs

    with Activation() as activation:
        if not activation.active:
            raise RuntimeError("explain counts on the virtual GPU, and Triton is left to the physical one that is here")
    torch._dynamo.reset()
    lines: list[KernelLines] = []
    token = graphs.set(lines)
    try:
        with observed() as runs:
            result = compiled(function, **_OPTIONS)(*args, **named)
            if backward:
                sum(tensor.sum() for tensor in _differentiable(result)).backward()
    finally:
        graphs.reset(token)
    return _explanation(runs, lines)


def _differentiable(result: Any) -> list[Any]:
    """Tensors of a result that have gradients; ValueError where there are none."""
    from torch.utils._pytree import tree_leaves

    tensors = [leaf for leaf in tree_leaves(result) if getattr(leaf, "requires_grad", False)]
    if not tensors:
        raise ValueError("backward=True, and nothing of what the function returns requires a gradient")
    return tensors


def _explanation(runs: Sequence[ObservedRun], kernel_lines: Sequence[KernelLines]) -> Explanation:
    lines: dict[str, dict[PythonLine, None]] = {}  # in the order in which they are met
    for graph in kernel_lines:
        for numbered, stacks in graph.items():
            lines.setdefault(numbered.partition(":")[0], {}).update(dict.fromkeys(_innermost_lines(stacks)))
    kernels = [ExplainedKernel(run.kernel, run, tuple(lines.get(run.kernel, ()))) for run in runs]
    launched = {run.kernel for run in runs}
    return Explanation(kernels, [(name, tuple(line_list)) for name, line_list in lines.items() if name not in launched])


def _innermost_lines(stacks: Sequence[str]) -> Iterator[PythonLine]:
    """The innermost line of each stack."""
    for stack in stacks:
        frames = _FRAME.findall(stack)
        if frames:
            yield PythonLine(frames[-1][0], int(frames[-1][1]))
