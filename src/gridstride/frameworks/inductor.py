"""`torch.compile(f, backend="gridstride")`: Inductor's Triton kernels for CPU tensors, run on the virtual GPU.

What Inductor leaves to libraries (products of matrices, convolutions) PyTorch computes on the processor.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from typing import Any

import torch
from torch._functorch import config as functorch_config
from torch._inductor.compile_fx import compile_fx, compile_fx_inner

from gridstride.frameworks.activation import Activation, virtual_driver
from gridstride.frameworks.triton_compiler import cpu_backend

_PATCHES: dict[str, Any] = {
    "cpu_backend": "triton",
    "compile_threads": 1,  # other processes know nothing of our compiler
    "deterministic": True,  # or configurations would be ranked by the clock on the wall
    "triton.autotune_pointwise": False,
}
KernelLines = Mapping[str, Sequence[str]]

graphs: ContextVar[list[KernelLines] | None] = ContextVar("gridstride_graphs", default=None)
"""Where somebody explains: of each compiled graph the kernels, "name:number", with the Python stacks they are of."""


def compile_graph(graph: Any, inputs: Sequence[Any], *, options: Mapping[str, Any] | None = None, **_: Any) -> Any:
    """A graph of TorchDynamo as a function, its kernels compiled for the virtual GPU in use.

    `options`: Inductor's. Where a physical GPU is, the graph is compiled as by backend="inductor", with a warning.
    """
    activation = Activation()
    activation.deactivate()
    if not activation.active:
        return compile_fx(graph, inputs, config_patches=dict(options or {}))
    with functorch_config.patch(enable_autograd_cache=False):  # what it keeps would be loaded with nothing activated
        return compile_fx(graph, inputs, inner_compile=_compile, config_patches={**_PATCHES, **(options or {})})


def _compile(*args: Any, **named: Any) -> Any:
    """Inductor's own compilation, of a forward graph or, later, of its backward graph."""
    with virtual_driver(), cpu_backend():
        compiled = compile_fx_inner(*args, **named)
    if hasattr(compiled, "current_callable"):  # a graph that computes nothing is a plain function
        compiled.current_callable = _under_our_driver(compiled.current_callable)
    graph = graphs.get()
    if graph is not None:
        graph.append(json.loads(getattr(compiled, "inductor_provenance_stack_traces_str", None) or "{}"))
    return compiled


def _under_our_driver(call: Callable[..., Any]) -> Callable[..., Any]:
    """The function of a compiled graph; Triton asks its driver at launches too, which may come at any time."""

    def run(inputs: Any) -> Any:
        with virtual_driver():
            return call(inputs)

    return run


def compiled(function: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    """`function` compiled for the virtual GPU with Inductor's `options`; no name need be registered."""
    compiled_function: Callable[..., Any] = torch.compile(function, backend=compile_graph, options=options)
    return compiled_function
