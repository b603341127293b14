"""The graph engine: loads a model, folds and fuses, checks inputs, and runs node after node on a GPU."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from gridstride.compiler import CompileError
from gridstride.device.choice import device as choose
from gridstride.device.choice import use
from gridstride.frameworks.onnx import elementwise
from gridstride.frameworks.onnx.expressions import ELEMENTWISE_OPS, c_type
from gridstride.frameworks.onnx.folding import DRAWN, evaluate, fold_constants, remove_dropout
from gridstride.frameworks.onnx.graph import ELEMENTWISE, Array, Graph, Node, Subgraph, load_graph
from gridstride.frameworks.onnx.input_values import check_inputs, token_limits
from gridstride.frameworks.onnx.launcher import Launch, Launcher
from gridstride.frameworks.onnx.model_file import first_sentence
from gridstride.frameworks.onnx.narrow_types import concerns_narrow, is_narrow
from gridstride.frameworks.onnx.onnx_errors import OnnxError, UnsupportedOperator
from gridstride.frameworks.onnx.operators import supported
from gridstride.frameworks.onnx.operators.control_flow import CONTROL
from gridstride.frameworks.onnx.passes.fusion import fuse
from gridstride.frameworks.onnx.registry import ON_HOST, OPERATORS, PLUGINS, Call
from gridstride.frameworks.onnx.tensors import Tensor, Value
from gridstride.protocol import DeviceError, LaunchError
from gridstride.virtual.findings.finding import KernelFault

_ON_HOST_AT_MOST = 1024
"""Elements that a node reads to be computed on the host: arithmetic on shapes, which would only wait for a launch."""
_INTEGERS = frozenset({"QuantizeLinear", "DynamicQuantizeLinear", "MatMulInteger"})


@dataclass(frozen=True, slots=True)
class NodeRun:
    """What one node did in a run; `launches` is empty for views and for what the host computes."""

    name: str
    op: str
    shape: tuple[int, ...]
    where: str  # "kernel", "view" or "host"
    host_ms: float  # of this machine: on the virtual GPU how long the simulation took
    launches: tuple[Launch, ...] = ()

    @property
    def ms(self) -> float | None:
        """Of its launches: predicted on the virtual GPU, measured on a physical one; None where nobody observed."""
        times = [launch.ms for launch in self.launches]
        return None if None in times else sum(ms for ms in times if ms is not None)


@dataclass(slots=True)
class Result:
    """Outputs by name, and the nodes in the order in which they ran."""

    outputs: dict[str, Array]
    nodes: list[NodeRun] = field(default_factory=list)


class Engine:
    """A model ready to run. `plugins` are functions by operator, as registry.plugin has them, for this engine alone.

    `fused` False leaves the graph as it is, to compare. UnsupportedOperator names what there is no kernel for.
    """

    def __init__(
        self, model: str | Path | Graph, *, device: Any = None, plugins: Mapping[str, Callable[..., Any]] | None = None,
        fused: bool = True,
    ) -> None:  # fmt: skip
        self.graph = load_graph(model) if not isinstance(model, Graph) else model
        self.device = choose(device)
        self._plugins = {**PLUGINS, **(plugins or {})}
        self.nodes_before = len(self.graph.nodes)
        self.token_limits = token_limits(self.graph)
        self.int8 = any(node.op in _INTEGERS for node in self.graph.nodes)
        self._check_types()
        self._check_operators()
        self.folded = fold_constants(self.graph)
        if "Dropout" not in self._plugins:
            remove_dropout(self.graph)
        self.fusions = fuse(self.graph, keep=frozenset(self._plugins)) if fused else {}
        self._cached: dict[tuple[str, str], Any] = {}
        self._last = self._last_uses()

    def _check_types(self) -> None:
        """UnsupportedOperator for inputs and weights of types that kernels do not compute in."""
        ports = [(f"input {port.name!r}", port.dtype) for port in self.graph.inputs]
        weights = [(f"weight {name!r}", array.dtype) for name, array in self.graph.constants.items()]
        for what, dtype in (*ports, *weights):
            if not is_narrow(dtype):
                c_type(dtype, f"{self.graph.name}: {what}")

    def _check_operators(self) -> None:
        operators = {*OPERATORS, *self._plugins, *ELEMENTWISE_OPS, *ON_HOST}
        missing: dict[str, str] = {}
        for node in _with_subgraphs(self.graph.nodes):
            constant = all(name in self.graph.constants for name in node.present())
            constant = constant and not node.domain and node.op not in DRAWN
            if node.qualified not in operators and not constant:
                missing.setdefault(node.qualified, node.name)
        if missing:
            named = ", ".join(f"{op} (node {name})" for op, name in missing.items())
            raise UnsupportedOperator(
                f"{self.graph.name}: no kernel for {named}; register one (gridstride.frameworks.onnx.plugin), or run "
                f"it with onnxruntime. Supported: {', '.join(supported())}"
            )

    def _last_uses(self) -> list[list[str]]:
        """For each node the values that nobody reads after it."""
        last: dict[str, int] = {}
        for number, node in enumerate(self.graph.nodes):
            last.update(dict.fromkeys(node.present(), number))
        output_names = {port.name for port in self.graph.outputs}
        free: list[list[str]] = [[] for _ in self.graph.nodes]
        for name, number in last.items():
            if name not in output_names and name not in self.graph.constants:
                free[number].append(name)
        return free

    def run(self, inputs: Mapping[str, Any], *, observe: bool = False) -> Result:
        """Outputs for inputs by name (NumPy arrays). `observe`: count (virtual) or time (physical) every launch.

        OnnxError for a wrong name, dtype or shape, and for what a kernel or a shape goes wrong with, by node.
        """
        checked = check_inputs(self.graph.inputs, inputs, self.graph.fixed)
        result = Result({})
        with use(self.device):
            launcher = Launcher(self.device, observe)
            tensors: dict[str, Value] = {
                name: value if is_narrow(value.dtype) else launcher.on_device(value) for name, value in checked.items()
            }
            tensors |= self.graph.constants
            for node, free in zip(self.graph.nodes, self._last, strict=True):
                result.nodes.append(self._node(launcher, node, tensors))
                for name in free:
                    tensors.pop(name, None)
            for port in self.graph.outputs:
                result.outputs[port.name] = np.array(launcher.on_host(tensors[port.name]))
        return result

    def _node(self, launcher: Launcher, node: Node, tensors: dict[str, Value]) -> NodeRun:
        launcher.launches = []
        began = time.perf_counter()
        results, on_host = self._results(launcher, node, tensors)
        ms, launches = 1e3 * (time.perf_counter() - began), tuple(launcher.launches)
        where = "host" if on_host else "kernel" if launches else "view"
        shape = tuple(int(n) for n in results[0].shape) if results else ()
        return NodeRun(node.name, _title(node), shape, where, ms, launches)

    def _results(
        self, launcher: Launcher, node: Node, tensors: dict[str, Value]
    ) -> tuple[Sequence[Value], bool]:  # fmt: skip
        """What a node gives, which `tensors` has then, and whether the host computed it; OnnxError names the node."""
        values = [tensors[name] if name else None for name in node.inputs]
        try:
            results, on_host = self._compute(launcher, node, values)
        except CompileError as error:
            raise OnnxError(f"{node.name} ({node.qualified}): its kernel does not compile: {error}") from error
        except (KernelFault, DeviceError, LaunchError) as error:
            first = str(error).splitlines()[0]
            raise OnnxError(f"{node.name} ({node.qualified}): {first}") from error
        except UnsupportedOperator:
            raise
        except OnnxError as error:
            raise OnnxError(f"{node.name} ({node.qualified}): {error}") from error
        except (ArithmeticError, LookupError, TypeError, ValueError) as error:  # what no check of ours has thought of
            reason = f"{type(error).__name__}: {first_sentence(error)}"
            raise OnnxError(f"{node.name} ({node.qualified}) cannot be computed of these inputs: {reason}") from error
        tensors.update((name, value) for name, value in zip(node.outputs, results, strict=False) if name)
        return results, on_host

    def _compute(self, launcher: Launcher, node: Node, values: Sequence[Value | None]) -> tuple[Sequence[Value], bool]:
        """What a node gives, and whether the host computed it."""
        name = node.qualified
        if name in self._plugins:
            on_device = [None if value is None else launcher.on_device(value) for value in values]
            return _listed(self._plugins[name](launcher, node, *on_device)), False
        if node.subgraphs:
            return self._branching(launcher, node, values), False
        if node.op in ("Shape", "Size") and not node.domain:
            return [_shape(node, values[0])], True
        if concerns_narrow(node, values):
            return evaluate(node, [v if v is None else launcher.on_host(v) for v in values], self.graph.opset), True
        hosted = [value for value in values if not isinstance(value, Tensor)]
        small = sum(value.size for value in hosted if value is not None) <= _ON_HOST_AT_MOST
        if len(hosted) == len(values) and small and not node.domain:
            return evaluate(node, hosted, self.graph.opset), True
        for value in values:
            if value is not None and is_narrow(value.dtype):
                raise UnsupportedOperator(
                    f"{node.name} ({name}) reads {value.dtype}, which no kernel has: Cast it first"
                )
        if node.op in ELEMENTWISE_OPS or node.op == ELEMENTWISE:
            return [self._elementwise(launcher, node, values)], False
        if node.op == "Range":
            arrays = [None if value is None else launcher.on_host(value) for value in values]
            return evaluate(node, arrays, self.graph.opset), True
        call = Call(launcher, node, values, self.graph.constants, self._cached, self.graph.opset)
        if name not in OPERATORS:  # a constant that was too large to be folded
            raise UnsupportedOperator(f"{node.name} ({name}): there is no kernel for it")
        return _listed(OPERATORS[name](call)), False

    def _branching(self, launcher: Launcher, node: Node, values: Sequence[Value | None]) -> Sequence[Value]:
        def run(branch: Subgraph, *arguments: Value) -> list[Value]:
            tensors = {
                name: value for name, value in zip(node.inputs, values, strict=True) if name and value is not None
            }
            tensors.update(zip(branch.inputs, arguments, strict=True))
            for inner in branch.nodes:
                self._results(launcher, inner, tensors)
            return [tensors[name] for name in branch.outputs]

        return CONTROL[node.op](launcher, node, values, run)

    def _elementwise(self, launcher: Launcher, node: Node, values: Sequence[Value | None]) -> Value:
        call = Call(launcher, node, values, self.graph.constants, self._cached, self.graph.opset)
        if node.op == "Identity":
            return call.tensor(0)
        constants = self.graph.constants
        large = [
            call.tensor(i) if name in constants and constants[name].size > 1 else value
            for i, (name, value) in enumerate(zip(node.inputs, values, strict=True))
        ]
        return elementwise.run_node(launcher, node, large, constants)


def _with_subgraphs(nodes: Sequence[Node]) -> Iterator[Node]:
    for node in nodes:
        yield node
        for branch in node.subgraphs.values():
            yield from _with_subgraphs(branch.nodes)


def _listed(results: Any) -> Sequence[Value]:
    return results if isinstance(results, list | tuple) else [results]


def _shape(node: Node, value: Value | None) -> Array:
    assert value is not None
    if node.op == "Size":
        return np.asarray(value.size, np.int64)
    sizes = value.shape[node.attributes.get("start", 0) : node.attributes.get("end")]
    return np.asarray(sizes, np.int64)


def _title(node: Node) -> str:
    """The operator, and what was fused into it."""
    name = node.op
    if node.op == ELEMENTWISE:
        return "+".join(inner.op for inner in node.body)
    return "+".join([name, *(inner.op for inner in node.body)])
