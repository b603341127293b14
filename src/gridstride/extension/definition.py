"""What a kernel's parameters are in the op that is made of it, and the op's schema."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gridstride.device.launch.kernel import Kernel
from gridstride.extension.shapes import ShapeSpec, check_stars, parse_shape

if TYPE_CHECKING:
    from gridstride.device.launch.parameters import KernelParameter

INPUT, IN_PLACE, OUTPUT, COMPUTED, ARGUMENT = "input", "in place", "output", "computed", "argument"
"""A parameter is a tensor that is read, one that is written, one that is made, a number that follows, or one given."""

_NUMBERS = {
    "bool": "bool",
    **{f"{sign}int{bits}": "SymInt" for sign in ("", "u") for bits in (8, 16, 32, 64)},
    **dict.fromkeys(("float16", "bfloat16", "float32", "float64"), "float"),
}
"""Schema types by NumPy's names."""


@dataclass(frozen=True, slots=True)
class Named:
    """A user's function with the names that it asks for, or what it would give each time."""

    value: Any
    needed: tuple[str, ...] = ()

    def __call__(self, values: Mapping[str, Any]) -> Any:
        """Its result, from those of `values` that it asks for."""
        return self.value(*(values[name] for name in self.needed)) if callable(self.value) else self.value


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """One op: its kernels, what their parameters are, and how it is launched."""

    name: str
    kernels: tuple[Kernel, ...]
    parameters: tuple[KernelParameter, ...]  # of the first kernel; names and roles are the same in all
    roles: Mapping[str, str]
    dtypes: tuple[Mapping[str, str | None], ...]  # of each kernel: NumPy's name of the elements of each array
    shapes: Mapping[str, ShapeSpec | Named]
    scalars: Mapping[str, Named]
    launch: Mapping[str, Named]  # grid, block, shared
    zeroed: frozenset[str]
    cooperative: bool
    cluster: Any

    def of(self, *roles: str) -> list[str]:
        """Names of the parameters with these roles, in the kernel's order."""
        return [name for name, role in self.roles.items() if role in roles]

    @property
    def arguments(self) -> list[str]:
        """What the op is called with."""
        return self.of(INPUT, IN_PLACE, ARGUMENT)

    @property
    def schema(self) -> str:
        """PyTorch's declaration of the op, without its name."""
        types = {parameter.label: _NUMBERS.get(parameter.dtype or "", "") for parameter in self.parameters}
        types |= dict.fromkeys(self.of(INPUT), "Tensor")
        types |= {name: f"Tensor({chr(ord('a') + n)}!)" for n, name in enumerate(self.of(IN_PLACE))}
        inputs = [f"{types[name]} {name}" for name in self.arguments]
        returned = [f"Tensor {name}" for name in self.of(OUTPUT)]
        results = returned[0] if len(returned) == 1 else f"({', '.join(returned)})"
        return f"({', '.join(inputs)}) -> {results}"


def named(value: Any, what: str, names: Iterable[str]) -> Named:
    """`value`, called with what it asks for by name where it can be called; ValueError for a name that is not known."""
    if not callable(value):
        return Named(value)
    needed = tuple(inspect.signature(value).parameters)
    names = list(names)
    for name in needed:
        if name not in names:
            raise ValueError(f"{what} asks for {name!r}, and there is {', '.join(names)}")
    return Named(value, needed)


def define(
    name: str, kernel: Kernel | Sequence[Kernel], *, shape: Mapping[str, Any], grid: Any, block: Any, shared: Any,
    scalars: Mapping[str, Any], in_place: Sequence[str], zeroed: Sequence[str], cooperative: bool, cluster: Any,
) -> Definition:  # fmt: skip
    """Check what `gs.torch_op` was given; ValueError or TypeError names the parameter."""
    if not isinstance(name, str):
        raise TypeError(f'name is {name!r}, not a text as in "mine::gelu"')
    kernels = tuple(kernel) if isinstance(kernel, Sequence) else (kernel,)
    _check_kernels(name, kernels)
    lists = [kernel.bound().parameters for kernel in kernels]
    parameters = lists[0]
    _check_names(name, kernels[0], parameters, {"shape": shape, "scalars": scalars, "in_place": in_place,
                                                "zeroed": zeroed})  # fmt: skip
    specs = {key: parse_shape(text, key) for key, text in shape.items() if isinstance(text, str)}
    check_stars(specs)
    roles = _roles(name, parameters, shape, specs, scalars, in_place)
    defined = [key for key, role in roles.items() if role in (INPUT, IN_PLACE, ARGUMENT)]
    read = (spec.symbols for key, spec in specs.items() if roles[key] != OUTPUT)
    defined = list(dict.fromkeys([*defined, *(symbol for symbols in read for symbol in symbols)]))
    computed = {}
    for key, value in scalars.items():
        computed[key] = named(value, f"{name}: scalars[{key!r}]", defined)
        defined.append(key)
    shapes = {key: specs.get(key) or named(text, f"{name}: shape[{key!r}]", defined) for key, text in shape.items()}
    _check_shapes(name, roles, shapes, defined, zeroed)
    launch = {"grid": grid, "block": block, "shared": shared}
    return Definition(
        name=name, kernels=kernels, parameters=parameters, roles=roles, shapes=shapes, scalars=computed,
        dtypes=tuple({p.label: p.dtype for p in item if roles[p.label] in (INPUT, IN_PLACE, OUTPUT)} for item in lists),
        launch={key: named(value, f"{name}: {key}", [*defined, *_of(roles, OUTPUT)]) for key, value in launch.items()},
        zeroed=frozenset(zeroed), cooperative=cooperative, cluster=cluster,
    )  # fmt: skip


def _check_kernels(name: str, kernels: tuple[Kernel, ...]) -> None:
    if not kernels or any(type(kernel) is not Kernel for kernel in kernels):
        types = ", ".join(type(kernel).__name__ for kernel in kernels) or "nothing"
        raise TypeError(
            f'{name}: kernel must be a kernel of CUDA C++, module["gelu"], or a list of instances of one for several '
            f"dtypes, not {types}; of a Triton kernel torch.library.triton_op makes an op"
        )
    first = [parameter.label for parameter in kernels[0].bound().parameters]
    for kernel in kernels:
        labels = [parameter.label for parameter in kernel.bound().parameters]
        if labels != first:
            raise ValueError(f"{name}: {kernel.name} takes {', '.join(labels)}, {kernels[0].name} {', '.join(first)}")


def _check_names(
    name: str, kernel: Kernel, parameters: Sequence[KernelParameter], arguments: Mapping[str, Iterable[str]]
) -> None:
    labels = [parameter.label for parameter in parameters]
    if not all(label.isidentifier() for label in labels):
        raise ValueError(f"{name}: {kernel.name} has parameters without names ({', '.join(labels)}): give them names")
    for what, names in arguments.items():
        for key in names:
            if what == "scalars" and any(p.label == key and p.pointer for p in parameters):
                raise ValueError(f"{name}: scalars names {key}, which is an array: what follows is a number")
            if key not in labels and what != "scalars":
                raise ValueError(f"{name}: {what} names {key!r}, which {kernel.name} does not take: {labels}")


def _roles(
    name: str, parameters: Sequence[KernelParameter], shape: Mapping[str, Any], specs: Mapping[str, ShapeSpec],
    scalars: Mapping[str, Any], in_place: Sequence[str],
) -> dict[str, str]:  # fmt: skip
    roles = {}
    for parameter in parameters:
        if parameter.pointer:
            roles[parameter.label] = (
                IN_PLACE if parameter.label in in_place else INPUT if parameter.read_only else OUTPUT
            )
        elif (parameter.dtype or "") not in _NUMBERS:
            raise ValueError(f"{name}: {parameter.label} is {parameter.type}, which no argument of a PyTorch op can be")
    settled = {s for key, spec in specs.items() if roles.get(key) in (INPUT, IN_PLACE) for s in spec.symbols}
    for parameter in parameters:
        follows = parameter.label in settled or parameter.label in scalars
        roles.setdefault(parameter.label, COMPUTED if follows else ARGUMENT)
    order = {parameter.label: roles[parameter.label] for parameter in parameters}
    wrong = [key for key in in_place if next(p for p in parameters if p.label == key).read_only]
    if wrong:
        raise ValueError(f"{name}: in_place names {wrong[0]}, which the kernel takes as a pointer to const")
    if not _of(order, INPUT, IN_PLACE):
        raise ValueError(
            f"{name}: no parameter of the kernel is a tensor that is given; what it only reads must be a pointer to "
            "const (const float*), what it writes in place is named by in_place=(…)"
        )
    return order


def _check_shapes(
    name: str, roles: Mapping[str, str], shapes: Mapping[str, ShapeSpec | Named], defined: Sequence[str],
    zeroed: Sequence[str],
) -> None:  # fmt: skip
    outputs = _of(roles, OUTPUT)
    for key in outputs:
        if key not in shapes:
            raise ValueError(
                f"{name}: shape does not say how large {key} is: it is a pointer that the kernel may write through; "
                "write const where it only reads, or name it in in_place"
            )
        spec = shapes[key]
        missing = [s for s in spec.symbols if s not in defined] if isinstance(spec, ShapeSpec) else []
        if missing:
            raise ValueError(f"{name}: shape of {key} has {missing[0]!r}, and there is {', '.join(defined)}")
    for key, spec in shapes.items():
        arrays = (
            [s for s in spec.symbols if roles.get(s) in (INPUT, IN_PLACE, OUTPUT)]
            if isinstance(spec, ShapeSpec)
            else []
        )
        if arrays:
            raise ValueError(f"{name}: shape of {key} has the symbol {arrays[0]}, which is an array")
        if roles[key] in (COMPUTED, ARGUMENT) or (roles[key] != OUTPUT and isinstance(spec, Named)):
            raise ValueError(f"{name}: shape of {key}: a number has none, and of a tensor that is given it is a text")
    for key in zeroed:
        if key not in outputs:
            raise ValueError(f"{name}: zeroed names {key}, which is no output; outputs are {', '.join(outputs)}")


def _of(roles: Mapping[str, str], *wanted_role: str) -> list[str]:
    return [name for name, role in roles.items() if role in wanted_role]
