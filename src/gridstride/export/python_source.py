"""An op in Python: its function, its fake tensors, its gradient by a backward op's names."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from gridstride.export.expressions import as_python
from gridstride.export.operator_signature import NUMERIC, OperatorSignature, SizeSource, is_floating, word
from gridstride.export.wrapped import wrapped
from gridstride.judge.problem import Parameter


def parameters(op: OperatorSignature) -> list[str]:
    """Names and types, in the order of the schema."""
    tensors = [f"{word(parameter.name)}: Tensor" for parameter in op.given]
    return [*tensors, *(f"{word(name)}: {NUMERIC[dtype].schema}" for name, dtype in op.numbers)]


def head(op: OperatorSignature, name: str) -> str:
    """The line that opens a function of its parameters."""
    return wrapped(f"def {name}(", parameters(op), f") -> {returns(op)}:")


def returns(op: OperatorSignature) -> str:
    """The type of what comes out."""
    types = ["Tensor"] * len(op.made)
    return "None" if not types else "Tensor" if len(types) == 1 else f"tuple[{', '.join(types)}]"


def call(op: OperatorSignature) -> str:
    """The raw op with tensors that are ready for it."""
    tensors = [
        f'_ready("{op.name}", "{word(p.name)}", {word(p.name)}{", written=True" if p.written else ""})'
        for p in op.given
    ]
    arguments = [*tensors, *(word(name) for name, _ in op.numbers)]
    return wrapped(f"{'return ' if op.made else ''}_OPS.{op.name}(", arguments, ")", indent=4)


def refuse_gradients(op: OperatorSignature) -> str:
    """The check of an op that writes in place: autograd must not record it."""
    tensors = [word(parameter.name) for parameter in op.given]
    return wrapped("_refuse_gradients(", [f'"{op.name}"', *(f"{name}={name}" for name in tensors)], ")", indent=4)


def shapes(op: OperatorSignature) -> str:
    """Each tensor with its dtype and its axes, in words."""
    inputs = [_described(op, parameter) for parameter in op.given]
    outputs = [_described(op, parameter) for parameter in op.made]
    element = f"; T is {', '.join(op.elements[:-1])} or {op.elements[-1]}" if op.of_element else ""
    return f"{', '.join(inputs)}{' -> ' if outputs else ''}{', '.join(outputs)}{element}"


def _described(op: OperatorSignature, parameter: Parameter) -> str:
    dtype = "T" if parameter.name in op.of_element else parameter.dtype
    written = " (written)" if parameter.role == "inout" else ""
    return f"{word(parameter.name)} {dtype} [{', '.join(parameter.shape)}]{written}"


def fake(op: OperatorSignature) -> Iterator[str]:
    """The lines that make tensors of the right shapes."""
    if not op.made:
        yield "return None"
        return
    needed = [output for output in op.made if op.like(output) is None]
    if needed:
        yield from _sizes(op)
    outputs = [_fake(op, parameter) for parameter in op.made]
    line = f"return {', '.join(outputs)}"
    yield line if len(line) <= 110 else wrapped("return (", outputs, ")", indent=4)


def _spelled(op: OperatorSignature) -> dict[str, str]:
    return {size.name: word(size.name) for size in op.sizes}


def _sizes(op: OperatorSignature) -> Iterator[str]:
    for size in op.sizes:
        if size.is_argument:
            continue
        array = word(size.array)
        if size.leading:
            axes = len(next(p for p in op.given if p.name == size.array).shape)
            trailing = f"[: {array}.dim() - {axes - 1}]" if axes > 1 else ""
            yield f"{word(size.name)} = {array}.shape{trailing}.numel()"
        else:
            less = f" - {size.offset}" if size.offset else ""
            extent = f"({array}.shape[-{size.axis}]{less})" if less else f"{array}.shape[-{size.axis}]"
            yield f"{word(size.name)} = {extent}{f' // {size.scale}' if size.scale != 1 else ''}"


def _fake(op: OperatorSignature, parameter: Parameter) -> str:
    like = op.like(parameter)
    if like is not None:
        return f"torch.empty_like({word(like.name)}, memory_format=torch.contiguous_format)"
    first, lead = word(op.given[0].name), _lead(op, parameter)
    extents = [as_python(extent, _spelled(op)) for extent in parameter.shape]
    if lead is not None:
        axes = len(next(p for p in op.given if p.name == lead.array).shape)
        array = word(lead.array)
        extents[0] = f"*{array}.shape[: {array}.dim() - {axes - 1}]" if axes > 1 else f"*{array}.shape"
    lead_array = next((word(p.name) for p in op.given if p.name in op.of_element), first)
    dtype = f"{lead_array}.dtype" if parameter.name in op.of_element else f"torch.{NUMERIC[parameter.dtype].torch}"
    shape = f"({extents[0]},)" if len(extents) == 1 else f"({', '.join(extents)})"
    return f"{first}.new_empty({shape}, dtype={dtype})"


def _lead(op: OperatorSignature, parameter: Parameter) -> SizeSource | None:
    return next((size for size in op.sizes if size.leading and size.name == parameter.shape[0]), None)


@dataclass(frozen=True, slots=True)
class GradientSource:
    """How an op's gradient is taken by another op: by the names of its parameters, as words of Python."""

    name: str
    backward: str
    inputs: str
    outputs: str
    without: str
    saved: str
    unpacked: str
    numbers: str
    slopes: str
    results: str
    call: str
    returned: str
    of: dict[str, str]
    missing: tuple[tuple[int, str], ...]
    """Inputs that could have a gradient and get none: where they stand among the arguments, and their names."""


def gradient(op: OperatorSignature, backward: OperatorSignature) -> GradientSource | None:
    """None where the backward op asks for something that is no input, no result and no result's gradient."""
    inputs, outputs = [parameter.name for parameter in op.given], [parameter.name for parameter in op.made]
    numbers = [name for name, _ in op.numbers]
    slopes = {f"d{name}": name for name in outputs}
    names = [parameter.name for parameter in backward.given]
    argument_names = {parameter.name: parameter.name.removeprefix("d") for parameter in backward.made}
    names_in_forward = {*inputs, *outputs, *slopes}
    fits = set(names) <= names_in_forward and {name for name, _ in backward.numbers} <= set(numbers) and op.made
    if (
        not fits
        or not set(argument_names.values()) <= set(inputs)
        or any(parameter.written for parameter in (*op.given, *backward.given))
    ):
        return None
    saved = [name for name in names if name not in slopes]
    used = [name for name, _ in backward.numbers]
    ready = [f"{name}.contiguous()" if name in slopes else word(name) for name in names]
    back = {source: result for result, source in argument_names.items()}
    return GradientSource(
        name=op.name,
        backward=backward.name,
        inputs=_unpacked([*map(word, inputs), *map(word, numbers)]),
        outputs=", ".join(outputs),
        without=", ".join(name for name in outputs if f"d{name}" not in names),
        saved=", ".join(map(word, saved)),
        unpacked=_unpacked(list(map(word, saved))),
        numbers=_unpacked(list(map(word, used))) if used else "",
        slopes=", ".join(f"{name}: Tensor" for name in slopes),
        results=", ".join(argument_names),
        call=", ".join([*ready, *map(word, used)]),
        returned=", ".join([back.get(name, "None") for name in inputs] + ["None"] * len(numbers)),
        of=argument_names,
        missing=tuple(
            (number, word(parameter.name))
            for number, parameter in enumerate(op.given)
            if is_floating(parameter) and parameter.name not in back
        ),
    )


def _unpacked(names: list[str]) -> str:
    return f"({names[0]},)" if len(names) == 1 else ", ".join(names)
