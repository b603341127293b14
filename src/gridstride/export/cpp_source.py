"""An op's function in C++: sizes from tensors, tensors that are made, the launch."""

from __future__ import annotations

from collections.abc import Iterator

from gridstride.export.expressions import as_cpp
from gridstride.export.operator_signature import NUMERIC, OperatorSignature, SizeSource, word
from gridstride.export.wrapped import wrapped
from gridstride.judge.header import MULTIPROCESSORS
from gridstride.judge.problem import Parameter
from gridstride.judge.symbols import names

_SCALAR_TYPES = {
    "float16": "Half", "bfloat16": "BFloat16", "float32": "Float", "float64": "Double", "uint8": "Byte",
    "int8": "Char", "uint16": "UInt16", "int32": "Int", "uint32": "UInt32", "int64": "Long", "uint64": "UInt64",
}  # fmt: skip
"""PyTorch's names in C++."""
_RANGED = "int32"  # a kernel's int, which a size may go beyond


def head(op: OperatorSignature) -> str:
    """The C++ function's type, name and parameters, in the order of the schema."""
    tensors = [f"Tensor {parameter.name}" for parameter in op.given]
    numbers = [f"{NUMERIC[dtype].boxed} {name}" for name, dtype in op.numbers]
    return wrapped(f"{returns(op)} {op.name}(", [*tensors, *numbers], ")", last_comma=False)


def returns(op: OperatorSignature) -> str:
    """Its type."""
    types = ["Tensor"] * len(op.made)
    return "void" if not types else "Tensor" if len(types) == 1 else f"std::tuple<{', '.join(types)}>"


def schema(op: OperatorSignature) -> str:
    """As PyTorch reads it."""
    tensors = [
        f"Tensor({chr(97 + number)}!) {word(parameter.name)}" if parameter.written else f"Tensor {word(parameter.name)}"
        for number, parameter in enumerate(op.given)
    ]
    numbers = [f"{NUMERIC[dtype].schema} {word(name)}" for name, dtype in op.numbers]
    types = ["Tensor"] * len(op.made)
    out = "()" if not types else "Tensor" if len(types) == 1 else f"({', '.join(types)})"
    return f"{op.name}({', '.join((*tensors, *numbers))}) -> {out}"


def body(op: OperatorSignature) -> Iterator[str]:
    """The function's lines."""
    yield f'const char* op = "{op.name}";'
    first = op.given[0].name
    if op.of_element:
        lead = next(parameter.name for parameter in op.given if parameter.name in op.of_element)
        yield f"const auto element = {lead}.scalar_type();"
        yield from _kernel(op)
    for parameter in op.given:
        yield f'expect(op, "{word(parameter.name)}", {parameter.name}, {_dtype(op, parameter)}, {first});'
        yield f'expect_axes(op, "{word(parameter.name)}", {parameter.name}, {_least_axes(op, parameter)});'
    yield from _sizes(op)
    for parameter in op.given:
        yield f'expect_shape(op, "{word(parameter.name)}", {parameter.name}, {_own_shape(op, parameter)});'
    for array in op.arrays:
        if not array.given:
            yield f"Tensor {array.name} = {_allocation(op, array)};"
    yield f"const int device = {first}.get_device_index();"
    yield "const torch::stable::accelerator::DeviceGuard guard(device);"
    yield from _launch(op)
    if op.made:
        yield f"return{_result(op)};"


def _result(op: OperatorSignature) -> str:
    """What stands behind `return`."""
    names = [parameter.name for parameter in op.made]
    return "" if not names else f" {names[0]}" if len(names) == 1 else f" {{{', '.join(names)}}}"


def _spelled(op: OperatorSignature) -> dict[str, str]:
    return {size.name: size.name for size in op.sizes} | {MULTIPROCESSORS: MULTIPROCESSORS}


def _dtype(op: OperatorSignature, parameter: Parameter) -> str:
    return "element" if parameter.name in op.of_element else f"ScalarType::{_SCALAR_TYPES[parameter.dtype]}"


def _least_axes(op: OperatorSignature, parameter: Parameter) -> int:
    """One less where its first axis may be no axis at all: a row of numbers is one row."""
    return len(parameter.shape) - (parameter.shape[0] in _leading(op))


def _leading(op: OperatorSignature) -> dict[str, SizeSource]:
    return {size.name: size for size in op.sizes if size.leading}


def _sizes(op: OperatorSignature) -> Iterator[str]:
    for size in op.sizes:
        if size.is_argument:
            continue  # a parameter of the function has its name
        array = next(p for p in op.given if p.name == size.array)
        extent = f"leading({size.array}, {len(array.shape)})" if size.leading else _extent(size)
        if size.offset:
            extent = f"({extent} - {size.offset})"
        yield f"const int64_t {size.name} = {extent}{f' / {size.scale}' if size.scale != 1 else ''};"


def _extent(size: SizeSource) -> str:
    return f"{size.array}.size({size.array}.dim() - {size.axis})"


def _own_shape(op: OperatorSignature, parameter: Parameter) -> str:
    return f"{{{', '.join(as_cpp(extent, _spelled(op)) for extent in parameter.shape)}}}"


def _allocation(op: OperatorSignature, parameter: Parameter) -> str:
    """A tensor of an output's shape, or of scratch memory's."""
    like = op.like(parameter)
    first, lead = op.given[0].name, _leading(op).get(parameter.shape[0])
    same = like is not None and (
        like.dtype == parameter.dtype and (like.name in op.of_element) is (parameter.name in op.of_element)
    )
    if like is not None and same and parameter.role == "out":
        return f"torch::stable::empty_like({like.name})"
    sizes = _own_shape(op, parameter)
    if lead is not None and parameter.role == "out":
        array = next(p for p in op.given if p.name == lead.array)
        extents = ", ".join(as_cpp(extent, _spelled(op)) for extent in parameter.shape[1:])
        sizes = f"behind({lead.array}, {len(array.shape)}, {{{extents}}})"
    return f"torch::stable::new_empty({first}, {sizes}, {_dtype(op, parameter)})"


def _launch(op: OperatorSignature) -> Iterator[str]:
    launch = op.launch
    words = (*launch.grid, *launch.block, launch.shared)
    if any(MULTIPROCESSORS in names(word) for word in words):
        yield f"const int64_t {MULTIPROCESSORS} = attribute(cudaDevAttrMultiProcessorCount, device);"
    if op.kernel.needs is not None:
        major, minor = op.kernel.needs
        yield "const int64_t capability = attribute(cudaDevAttrComputeCapabilityMajor, device) * 10 +"
        yield "    attribute(cudaDevAttrComputeCapabilityMinor, device);"
        needs = f"the kernel needs compute capability {major}.{minor}"
        yield f'STD_TORCH_CHECK(capability >= {major}{minor}, op, ": {needs}");'
    for name, words_of in (("grid", launch.grid), ("block", launch.block)):
        values = [f'as_int(op, "{name}", {as_cpp(size, _spelled(op))})' for size in words_of]
        yield f"const dim3 {name}({', '.join(values)});"
    yield f"const size_t shared = {as_cpp(launch.shared, _spelled(op))};"
    arguments = []
    for parameter in op.problem.parameters:
        arguments.append(f"&{parameter.name}_given")
        if parameter.shape:
            yield f"void* {parameter.name}_given = {parameter.name}.data_ptr();"
        else:
            yield f"{NUMERIC[parameter.dtype].kernel} {parameter.name}_given = {_number(parameter)};"
    yield wrapped("void* arguments[] = {", arguments, "};", indent=4)
    if not op.of_element:
        yield f"const void* kernel = reinterpret_cast<const void*>(&{namespace(op, None)}::{entry(op, None)});"
    yield "if (grid.x == 0 || grid.y == 0 || grid.z == 0) {  // nothing is launched where there is nothing to do"
    for output in op.made:
        yield f'    expect_empty(op, "{word(output.name)}", {output.name});'
    yield f"    return{_result(op)};"
    yield "}"
    cooperative = "true" if launch.cooperative else "false"
    yield f"launch(op, kernel, grid, block, shared, arguments, {cooperative}, device);"


def _number(parameter: Parameter) -> str:
    kernel = NUMERIC[parameter.dtype].kernel
    return (
        f'as_int(op, "{parameter.name}", {parameter.name})'
        if parameter.dtype == _RANGED
        else f"static_cast<{kernel}>({parameter.name})"
    )


def _kernel(op: OperatorSignature) -> Iterator[str]:
    """The instance of the element type, and who has none: before other tensors are compared with it."""
    yield "const void* kernel = nullptr;"
    for element in op.elements:
        yield f"if (element == ScalarType::{_SCALAR_TYPES[element]})"
        yield f"    kernel = reinterpret_cast<const void*>(&{namespace(op, element)}::{entry(op, element)});"
    listed = ", ".join(_SCALAR_TYPES[element] for element in op.elements)
    lead = next(parameter.name for parameter in op.given if parameter.name in op.of_element)
    yield f'STD_TORCH_CHECK(kernel != nullptr, op, ": {word(lead)} is ", toString(element), ", not one of {listed}");'


def entry(op: OperatorSignature, element: str | None) -> str:
    """What an instance of the kernel is called: they would be one function to the linker."""
    return f"{op.entry}_{element or op.name}"


def namespace(op: OperatorSignature, element: str | None) -> str:
    """Where the instance's helpers are."""
    return f"{op.name}_{element or 'kernel'}"
