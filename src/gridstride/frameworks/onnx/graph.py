"""The graph as the engine has it: nodes in order, constants as arrays, and who makes and who reads each value."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from gridstride.frameworks.onnx.model_file import MOST_BYTES, check_model, first_sentence, read_model
from gridstride.frameworks.onnx.onnx_errors import OnnxError, UnsupportedOperator
from gridstride.frameworks.onnx.packages import onnx_package

Array = np.ndarray[Any, Any]
ELEMENTWISE = "Elementwise"
"""The operator that a chain of elementwise nodes is fused into; its `body` is the chain."""
CONTROL_FLOW = frozenset({"If", "Loop"})
"""Operators with graphs inside that the engine runs."""
OLDEST = 7
"""Before it arithmetic broadcast by attributes, and Dropout and norms were in training unless a node said otherwise."""
NEWEST = 25
"""What operators got since is not computed: an attribute or input that a newer opset brought is refused by name."""


@dataclass(slots=True)
class Node:
    """One operator: names of values in and out ("" for an optional one that is absent) and attributes."""

    op: str
    inputs: list[str]
    outputs: list[str]
    attributes: dict[str, Any] = field(default_factory=dict)
    domain: str = ""
    name: str = ""
    body: list[Node] = field(default_factory=list)
    subgraphs: dict[str, Subgraph] = field(default_factory=dict)
    """Graphs inside, by attribute. What they read from outside stands at the end of `inputs`."""

    @property
    def qualified(self) -> str:
        """The operator with its domain in front, but for ONNX's own: "com.example::Scale"."""
        return f"{self.domain}::{self.op}" if self.domain else self.op

    def present(self) -> list[str]:
        """Inputs that are there."""
        return [name for name in self.inputs if name]


@dataclass(slots=True)
class Subgraph:
    """A graph inside a node: values that it is given by place, nodes, values that it gives."""

    inputs: list[str]
    outputs: list[str]
    nodes: list[Node]
    ends: list[Port | None]
    """Its outputs as the file describes them; it need not."""


@dataclass(frozen=True, slots=True)
class Port:
    """An input or output of a graph; a size is a number, or the name of one that varies, or None."""

    name: str
    dtype: np.dtype[Any]
    shape: tuple[int | str | None, ...] | None

    def __str__(self) -> str:
        sizes = "…" if self.shape is None else ", ".join("?" if size is None else str(size) for size in self.shape)
        return f"{self.dtype} [{sizes}]"


@dataclass(slots=True)
class Graph:
    """Nodes stand after those whose values they read; `name` is the file's, for messages."""

    name: str
    inputs: list[Port]
    outputs: list[Port]
    nodes: list[Node]
    constants: dict[str, Array]
    opset: int
    ranks: dict[str, int] = field(default_factory=dict)
    """How many axes values have, of those where ONNX's shape inference knows."""
    fixed: frozenset[str] = frozenset()
    """Inputs that have a value in the file: weights here, as they are folded into what depends on them."""
    fresh: int = 0

    def producers(self) -> dict[str, Node]:
        """Who makes each value."""
        return {output: node for node in self.nodes for output in node.outputs if output}

    def uses(self) -> Counter[str]:
        """How often each value is read; an output of the graph counts as read once more."""
        counted = Counter(name for node in self.nodes for name in node.present())
        counted.update(port.name for port in self.outputs)
        return counted

    def new_name(self, hint: str) -> str:
        """A name that no value has."""
        self.fresh += 1
        return f"{hint}//{self.fresh}"

    def drop_unused(self) -> None:
        """Remove nodes that nothing reads, and constants that no node does."""
        needed = {port.name for port in self.outputs}
        used: list[Node] = []
        for node in reversed(self.nodes):
            if needed.intersection(node.outputs):
                used.append(node)
                needed.update(node.present())
        self.nodes = used[::-1]
        self.constants = {name: value for name, value in self.constants.items() if name in needed}

    def count(self) -> dict[str, int]:
        """Nodes by operator, the most frequent first."""
        return dict(Counter(node.qualified for node in self.nodes).most_common())


def load_graph(path: str | Path) -> Graph:
    """The graph of a checked file; OnnxError for what is none, or holds what the engine cannot have at all."""
    model = read_model(path)
    check_model(model, path, full=False)
    return graph_of(model, str(path))


def graph_of(model: Any, path: str) -> Graph:
    """The graph of an `onnx.ModelProto`, functions of its own inlined."""
    onnx_package()
    if model.functions:
        from onnx import inliner  # not there before it is imported

        model = inliner.inline_local_functions(model)
    graph = model.graph
    opset = _opset(model, path)
    if graph.sparse_initializer:
        raise OnnxError(f"{path}: {graph.sparse_initializer[0].values.name!r} is sparse; weights must be dense")
    constants = {tensor.name: _array(tensor, path) for tensor in graph.initializer}
    reader = _Reader(path, opset, constants)
    nodes = reader.nodes(graph, {}, "")
    return Graph(
        name=path,
        inputs=[_port(value, path) for value in graph.input if value.name not in constants],
        outputs=[_port(value, path) for value in graph.output],
        nodes=nodes,
        constants=constants,
        opset=opset,
        ranks=_ranks(model, path),
        fixed=frozenset(value.name for value in graph.input if value.name in constants),
    )


def _opset(model: Any, path: str) -> int:
    """The version of ONNX's own operators, of those that the installed onnx knows."""
    newest = onnx_package().defs.onnx_opset_version()
    versions = {entry.domain: entry.version for entry in model.opset_import}
    opset = int(versions.get("", versions.get("ai.onnx", newest)))
    if not OLDEST <= opset <= newest:
        raise UnsupportedOperator(
            f"{path}: opset {opset} is none of {OLDEST} to {newest}: onnx.version_converter.convert_version(model, 20) "
            "writes another one"
        )
    return opset


def _check_known(node: Node, opset: int, path: str) -> None:
    """UnsupportedOperator where a node has an attribute or an input that came after NEWEST."""
    onnx = onnx_package()
    try:
        schema = onnx.defs.get_schema(node.op, min(opset, NEWEST), node.domain)
    except onnx.defs.SchemaError:
        return  # of a domain of its own, or an operator that there was none of
    later = sorted(node.attributes.keys() - schema.attributes.keys())
    later += [f"input {number}" for number in range(schema.max_input, len(node.inputs)) if node.inputs[number]]
    if later and opset > NEWEST:
        raise UnsupportedOperator(f"{path}: {node.name} ({node.op}): {later[0]} came after opset {NEWEST}")


def _ranks(model: Any, path: str) -> dict[str, int]:
    """How many axes values have; OnnxError where types or shapes contradict the operators."""
    onnx = onnx_package()
    if model.ByteSize() < MOST_BYTES:
        try:
            model = onnx.shape_inference.infer_shapes(model, check_type=True, strict_mode=True)
        except Exception as error:  # InferenceError, and what C++ throws besides
            raise OnnxError(f"{path} is no valid ONNX model: {first_sentence(error)}") from error
    value_infos = [*model.graph.input, *model.graph.value_info, *model.graph.output]
    tensors = {value.name: value.type.tensor_type for value in value_infos if value.type.HasField("tensor_type")}
    ranks = {name: len(tensor.shape.dim) for name, tensor in tensors.items() if tensor.HasField("shape")}
    return ranks | {tensor.name: len(tensor.dims) for tensor in model.graph.initializer}


@dataclass(slots=True)
class _Reader:
    """Nodes of a file, those of graphs inside with names of their own; their weights join `constants`."""

    path: str
    opset: int
    constants: dict[str, Array]

    def nodes(self, graph: Any, names: Mapping[str, str], prefix: str) -> list[Node]:
        """`names`: values of a graph inside by the names that stand in the file; `prefix` is in front of them here."""
        return [self._node(node, f"{prefix}{node.op_type}_{number}", names) for number, node in enumerate(graph.node)]

    def _node(self, node: Any, unnamed: str, names: Mapping[str, str]) -> Node:
        domain = "" if node.domain == "ai.onnx" else node.domain
        name = node.name or unnamed
        inputs, outputs = (
            [names.get(tensor_name, tensor_name) for tensor_name in names_in_file]
            for names_in_file in (node.input, node.output)
        )
        new_node = Node(node.op_type, inputs, outputs, dict(_attributes(node, name, self.path)), domain, name)
        _check_known(new_node, self.opset, self.path)
        for attribute in node.attribute:
            if attribute.type == attribute.GRAPH:
                branch = self._branch(attribute.g, names, f"{name}/{attribute.name}/")
                new_node.subgraphs[attribute.name] = branch
                new_node.inputs += [
                    tensor_name for tensor_name in _read_outside(branch) if tensor_name not in new_node.inputs
                ]
        return new_node

    def _branch(self, graph: Any, names: Mapping[str, str], prefix: str) -> Subgraph:
        own = [port.name for port in graph.input] + [tensor.name for tensor in graph.initializer]
        own += [output for node in graph.node for output in node.output if output]
        names = {**names, **{name: prefix + name for name in own}}
        self.constants |= {names[tensor.name]: _array(tensor, self.path) for tensor in graph.initializer}
        ends = [_port(value, self.path) if value.HasField("type") else None for value in graph.output]
        branch_inputs, gives = (
            [names.get(port.name, port.name) for port in ports] for ports in (graph.input, graph.output)
        )
        return Subgraph(branch_inputs, gives, self.nodes(graph, names, prefix), ends)


def _read_outside(branch: Subgraph) -> list[str]:
    """What a branch reads or gives that it was not given and does not make."""
    produced = {*branch.inputs, *(output for node in branch.nodes for output in node.outputs)}
    read = [*(name for node in branch.nodes for name in node.present()), *branch.outputs]
    return [name for name in dict.fromkeys(read) if name not in produced]


def _attributes(node: Any, name: str, path: str) -> Iterator[tuple[str, Any]]:
    onnx = onnx_package()
    kinds = onnx.AttributeProto
    for attribute in node.attribute:
        if attribute.type in (kinds.GRAPH, kinds.GRAPHS):
            if node.op_type in CONTROL_FLOW and not node.domain:
                continue
            raise UnsupportedOperator(
                f"{path}: {name} is {node.op_type}, an operator with graphs inside, of which the engine runs "
                f"{' and '.join(sorted(CONTROL_FLOW))}: run the model with onnxruntime"
            )
        value = onnx.helper.get_attribute_value(attribute)
        if attribute.type == kinds.TENSOR:
            value = _array(value, path)
        elif attribute.type == kinds.STRING:
            value = value.decode()
        elif attribute.type == kinds.STRINGS:
            value = [text.decode() for text in value]
        elif attribute.type in (kinds.INTS, kinds.FLOATS):
            value = list(value)
        yield attribute.name, value


def _array(tensor: Any, path: str) -> Array:
    onnx = onnx_package()
    try:
        array: Array = np.array(onnx.numpy_helper.to_array(tensor))
    except Exception as error:
        raise OnnxError(f"{path}: the weights of {tensor.name!r} cannot be read: {first_sentence(error)}") from error
    return array


def _port(value: Any, path: str) -> Port:
    onnx = onnx_package()
    if not value.type.HasField("tensor_type"):
        kind = value.type.WhichOneof("value") or "nothing"
        raise OnnxError(f"{path}: {value.name!r} is a {kind}, the engine takes tensors alone")
    tensor = value.type.tensor_type
    dtype = np.dtype(onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type))
    if not tensor.HasField("shape"):
        return Port(value.name, dtype, None)
    sizes = [d.dim_value if d.HasField("dim_value") else d.dim_param or None for d in tensor.shape.dim]
    if any(isinstance(size, int) and size < 0 for size in sizes):
        raise OnnxError(f"{path}: {value.name!r} has a size below 0: {sizes}; a size that varies has a name")
    return Port(value.name, dtype, tuple(sizes))
