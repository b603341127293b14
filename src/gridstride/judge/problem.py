"""What a kernel must compute: signature, float64 reference, cases, tolerance, cost and peers."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from gridstride.judge.header import SymbolicLaunch
from gridstride.judge.symbols import ExpressionError, evaluate, names
from gridstride.one_message import OneMessage

Role = Literal["in", "out", "inout", "scalar", "scratch"]
Array = NDArray[Any]
Values = Mapping[str, Any]  # parameter name -> array or number
Reference = Callable[[Values], dict[str, Array]]
Sizes = Mapping[str, int]
Invariant = Callable[
    [Values, Values], Array
]  # inputs (wide), results as the kernel left them -> elements that are wrong
Special = Callable[[Values, np.random.Generator], Mapping[str, Any]]  # values as drawn -> those that are others
Order = Literal["reversed", "seeded", "one at a time", "in step"]
_REACHED = (
    1 << 18
)  # heads, rows, words: so many are judged as they are timed; of more, the classes of sizes stand for all
_WORK_ALONE = 1 << 28  # operations or bytes up to which one size goes as far as that


class ProblemError(OneMessage, ValueError):
    """A problem that is not fit to judge with, or a name that is no problem."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of the kernel; shapes are expressions over the problem's sizes, empty for a number."""

    name: str
    dtype: str
    shape: tuple[str, ...]
    role: Role

    @property
    def written(self) -> bool:
        """Whether the kernel is to write it."""
        return self.role in ("out", "inout")

    @property
    def given(self) -> bool:
        """Whether it holds a value before the kernel runs; scratch memory and pure outputs do not."""
        return self.role in ("in", "inout", "scalar")


def array(name: str, dtype: str, *shape: str, role: Role = "in") -> Parameter:
    """An array parameter, C-contiguous; role "scratch": memory the kernel may use, which nobody looks at afterwards."""
    return Parameter(name, dtype, shape, role)


def size(name: str, dtype: str = "int32") -> Parameter:
    """A number parameter that carries one of the problem's sizes."""
    return Parameter(name, dtype, (), "scalar")


def scalar(name: str, dtype: str = "float32") -> Parameter:
    """A number parameter drawn like the data."""
    return Parameter(name, dtype, (), "scalar")


@dataclass(frozen=True, slots=True)
class Peer:
    """An implementation to time against: `call` gets the kernel's parameters as the library's own arrays.

    The library is imported only where the peer is timed, and the peer is left out where it is missing.
    """

    call: Callable[[Values], object]
    library: str = "torch"


@dataclass(frozen=True, slots=True)
class Case:
    """One input to run on: sizes, the kind of data, and the seed it is drawn from.

    `multiprocessors` is what a launch expression over the chip's size is told instead of the truth: a grid of a few
    blocks makes a grid-stride loop go round where the real one would cover a small input at once. `offsets`: by name,
    how many elements after an aligned address an array begins, as a part of a larger array does; 0 for the others.
    `order` is in what order the second run's blocks and warps go; the first run's go in turn. `again`: other data
    follows in the same memory, then in other memory. `fresh`: the module is loaded anew, and the run in the other order
    comes first; `swapped`: it comes first, with the module as the cases before left it. `once`: one run only; the
    longest cases have no second. `mirrored`: the arrays lie in memory in the opposite order, the last parameter first.
    """

    sizes: Sizes
    data: str
    seed: int
    hidden: bool = False
    multiprocessors: int | None = None
    offsets: Mapping[str, int] = field(default_factory=dict)
    order: Order = "reversed"
    again: bool = False
    fresh: bool = False
    once: bool = False
    mirrored: bool = False
    swapped: bool = False

    def __str__(self) -> str:
        sizes = " ".join(f"{name}={value}" for name, value in self.sizes.items())
        chip = f", on {self.multiprocessors} SMs" if self.multiprocessors else ""
        start = "".join(f", {name} {_elements(count)} past an aligned address" for name, count in self.offsets.items())
        turned = ", the last array first in memory" if self.mirrored else ""
        return f"{sizes}, {self.data} data{chip}{start}{turned}{f', seed {self.seed}' if self.hidden else ''}"


def _elements(count: int) -> str:
    return "one element" if count == 1 else f"{count} elements"


@dataclass(frozen=True, slots=True)
class Signature:
    """A problem's parameters alone: all that a process must know that runs kernels and may not know what is right."""

    parameters: tuple[Parameter, ...]

    def shape(self, parameter: Parameter, sizes: Sizes) -> tuple[int, ...]:
        """The parameter's shape for these sizes."""
        return tuple(evaluate(extent, sizes) for extent in parameter.shape)


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """A thing to compute, and all that is needed to judge who claims to.

    Sizes are the free symbols of the shapes. `terms` is how many terms are added up for one output element: the
    tolerance grows with it. `magnitude` gives, for each output, the sum of the terms' absolute values, which is what
    rounding errors are in proportion to; without it the output's own absolute value is taken. `public` are sizes that
    everybody may know; hidden ones are drawn up to `largest`, next to `tiles` among others. `observed` is the case
    whose counters are shown, `timed` the one that is timed. `without` names kinds of data that are left out, each with
    the reason. `arrange` is given the values as drawn and gives those that must be others: indices that lie within what
    they point into, a number that must not be negative. `unrepeatable` says why two runs may differ in bits (a
    kernel with atomics may without it, where `same_bits` does not say that no kernel may), `aligned`
    why arrays always begin at an aligned address (256 bytes): without it, kernels are also given arrays that do not.

    `widest` are sizes that go further than `largest`, one alone at a time; up to 2^18 they go as far as the timed ones
    in any case, where the answer is cheap enough then. `wide_data` the kinds of data that they are
    then run with, where not all of the problem's own are worth their time: normal ones when scaled tell as much.

    `zeros` are sizes that hidden cases also give as 0: nothing to do, or a sum of nothing; where the grid comes out as
    0 nothing is launched. `strides` are sizes that are distances between rows, each with the size it must be no less
    than: {"pitch": "columns"} for an array of shape "rows", "pitch" whose rows have `columns` elements and a gap.
    Hidden cases draw even and odd gaps. A kernel leaves gaps alone: the reference gives NaN there, or for an inout
    array what was there.

    `invariants` are for outputs with more than one right answer, such as the payload of equal keys or the sign of an
    eigenvector: by the output's name, a function that gets inputs and results and marks the wrong elements. The
    reference gives any right answer; it is not compared with.

    `pieces` names a size along which the reference may work piece by piece, so that a timed case of gigabytes never
    needs all of itself in float64: arrays with that extent are cut along it, `halo` elements wider than the results
    that are used; an inout array without it goes from one piece to the next, as a sum does. Without it the reference
    gets everything at once. `products` is the type in which tensor cores may multiply, where the parameters' dtypes do
    not tell: "tf32" of floats, "e4m3" of bytes. `torch_ops` names the PyTorch operators that compute this, as the
    profiler writes them.
    """

    name: str
    title: str
    parameters: tuple[Parameter, ...]
    reference: Reference
    public: tuple[Sizes, ...]
    observed: Sizes
    timed: Sizes
    largest: Sizes
    flops: str
    bytes: str
    magnitude: Reference | None = None
    terms: str = "1"
    exact: bool = False
    without: Mapping[str, str] = field(default_factory=dict)
    arrange: Callable[[Values], dict[str, Any]] | None = None
    tiles: tuple[int, ...] = (16, 32, 64, 128)
    launch: SymbolicLaunch | None = None
    peers: Mapping[str, Peer] = field(default_factory=dict)
    unrepeatable: str = ""
    same_bits: bool = False
    alignment: int = 1
    bitwise: bool = False
    special: Mapping[str, Special] = field(default_factory=dict)
    widest: Sizes = field(default_factory=dict)
    wide_data: tuple[str, ...] = ()
    pieces: str = ""
    halo: int = 0
    products: Literal["", "tf32", "e4m3"] = ""
    torch_ops: tuple[str, ...] = ()
    zeros: tuple[str, ...] = ()
    strides: Mapping[str, str] = field(default_factory=dict)
    invariants: Mapping[str, Invariant] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[A-Za-z][\w-]*", self.name):
            raise ProblemError(f"a problem has no name {self.name!r}: use letters, digits, _ and -, a letter first")
        for parameter in self.parameters:
            self._check_parameter(parameter)
        sizes = set(self.sizes)
        for what in ("observed", "timed", "largest"):
            self._check_sizes(what, getattr(self, what), sizes)
        if not isinstance(self.public, tuple | list) or not self.public:
            raise ProblemError(
                f"problem {self.name}: public must be a tuple of sizes, one for each case, and not empty"
            )
        for number, case in enumerate(self.public):
            self._check_sizes(f"public[{number}]", case, sizes)
        for what in ("flops", "bytes", "terms"):
            self._check_expression(what, getattr(self, what))
        for case in (*self.public, self.observed):
            if (terms := evaluate(self.terms, case)) < 1:
                sizes_text = " ".join(f"{name}={value}" for name, value in case.items())
                raise ProblemError(
                    f"problem {self.name}: terms {self.terms} is {terms} for {sizes_text}, at least 1 is needed"
                )
        if self.same_bits and self.unrepeatable:
            raise ProblemError(
                f"problem {self.name}: same_bits=True says that no two runs differ, unrepeatable says why they may: "
                "leave one of them out"
            )
        if not any(parameter.written for parameter in self.parameters):
            raise ProblemError(f"problem {self.name}: no parameter has role out or inout, so there is nothing to judge")
        self._check_pieces(sizes)
        self._check_strides(sizes)
        self._check_classes(sizes)
        object.__setattr__(self, "widest", {**self.widest, **self._as_timed()})

    def _as_timed(self) -> dict[str, int]:
        """Sizes that go further where the problem is timed than where it is judged, and that alone cost little there: a
        kernel that is wrong above what is judged would pass.
        """
        small = {name: min(2, limit) for name, limit in self.largest.items()}
        further = {name: timed for name, timed in self.timed.items() if name not in self.strides
                   and max(self.largest[name], self.widest.get(name, 0)) < timed <= _REACHED}  # fmt: skip
        return {name: timed + 1 for name, timed in further.items()
                if max(self.work({**small, name: timed})) <= _WORK_ALONE}  # fmt: skip

    @property
    def sizes(self) -> tuple[str, ...]:
        """The free symbols of the shapes, in the order in which they appear."""
        size_names = (name for p in self.parameters for extent in p.shape for name in sorted(names(extent)))
        return tuple(dict.fromkeys(size_names))

    @property
    def signature(self) -> Signature:
        """The parameters alone."""
        return Signature(self.parameters)

    @property
    def outputs(self) -> tuple[Parameter, ...]:
        """The parameters that the kernel writes."""
        return tuple(parameter for parameter in self.parameters if parameter.written)

    def shape(self, parameter: Parameter, sizes: Sizes) -> tuple[int, ...]:
        """The parameter's shape for these sizes."""
        return self.signature.shape(parameter, sizes)

    def work(self, sizes: Sizes) -> tuple[int, int]:
        """Floating-point operations that the answer needs, and bytes that must move through memory at least."""
        return evaluate(self.flops, sizes), evaluate(self.bytes, sizes)

    def _check_pieces(self, sizes: set[str]) -> None:
        if self.pieces and self.pieces not in sizes:
            raise ProblemError(f"problem {self.name}: pieces = {self.pieces!r}, but the sizes are {sorted(sizes)}")
        uncut = [p for p in self.outputs if self.pieces and self.pieces not in p.shape]
        if any(p.role == "out" for p in uncut) or (uncut and len(uncut) < len(self.outputs)):
            raise ProblemError(
                f"problem {self.name}: cut along {self.pieces}, {uncut[0].name} of shape {list(uncut[0].shape)} cannot "
                "be put together: every output must have that extent, or every output be inout and have none"
            )

    def _check_strides(self, sizes: set[str]) -> None:
        for what, named in (("zeros", self.zeros), ("strides", (*self.strides, *self.strides.values()))):
            if unknown := sorted(set(named) - sizes):
                raise ProblemError(f"problem {self.name}: {what} names {unknown[0]}, the sizes are {sorted(sizes)}")
        if unknown := sorted(set(self.invariants) - {p.name for p in self.outputs}):
            raise ProblemError(f"problem {self.name}: invariants names {unknown[0]}, which is no output")
        for p in self.outputs:
            gaps = bool(set(p.shape) & set(self.strides))
            if gaps and p.role == "out" and np.dtype(p.dtype).kind != "f":
                raise ProblemError(
                    f"problem {self.name}: {p.name} has gaps and is {p.dtype}, which has no NaN to say that nothing "
                    "belongs there: make it inout"
                )

    def _check_classes(self, sizes: set[str]) -> None:
        if unknown := sorted(set(self.widest) - sizes):
            raise ProblemError(f"problem {self.name}: widest names {unknown[0]}, the sizes are {sorted(sizes)}")
        for name, most in self.widest.items():
            if not isinstance(most, int) or most < self.largest[name]:
                raise ProblemError(
                    f"problem {self.name}: widest has {name}={most!r}, below the {self.largest[name]} of largest"
                )
        if unknown := [kind for kind in self.wide_data if kind not in ("normal", *self.special)]:
            raise ProblemError(
                f"problem {self.name}: wide_data names {unknown[0]!r}: use normal or one of its own kinds of data, "
                f"{', '.join(self.special) or 'of which it has none'}"
            )
        if not isinstance(self.alignment, int) or self.alignment < 1 or 256 % self.alignment:
            raise ProblemError(
                f"problem {self.name}: alignment is {self.alignment!r}: a power of two up to 256, in bytes, is needed"
            )
        if self.bitwise and any(p.name in self.invariants for p in self.outputs):
            raise ProblemError(f"problem {self.name}: bitwise compares every output, invariants do not belong there")

    def _check_parameter(self, parameter: Parameter) -> None:
        if parameter.role not in get_args(Role):
            roles = ", ".join(get_args(Role))
            raise ProblemError(f"problem {self.name}: {parameter.name} has role {parameter.role!r}: use one of {roles}")
        try:
            np.dtype(parameter.dtype)
            for extent in parameter.shape:
                names(extent)
        except (TypeError, ExpressionError) as error:
            raise ProblemError(f"problem {self.name}: {parameter.name}: {error}") from error

    def _check_sizes(self, what: str, chosen: Sizes, sizes: set[str]) -> None:
        if not isinstance(chosen, Mapping):
            example = ", ".join(f'"{name}": 64' for name in self.sizes)
            raise ProblemError(f"problem {self.name}: {what} is {chosen!r}, sizes are needed: {{{example}}}")
        if set(chosen) != sizes:
            raise ProblemError(f"problem {self.name}: {what} gives {sorted(chosen)}, the shapes need {sorted(sizes)}")
        for name, value in chosen.items():
            if not isinstance(value, int):
                raise ProblemError(f"problem {self.name}: {what} has {name}={value!r}, a whole number is needed")
        small = [f"{name}={value}" for name, value in chosen.items() if value < 1]
        if small:
            raise ProblemError(f"problem {self.name}: {what} has {', '.join(small)}, at least 1 is needed")
        for stride, width in self.strides.items():
            if {stride, width} <= set(chosen) and chosen[stride] < chosen[width]:
                sizes_text = f"{stride}={chosen[stride]} and {width}={chosen[width]}"
                raise ProblemError(f"problem {self.name}: {what} has {sizes_text}: rows would overlap")

    def _check_expression(self, what: str, text: str) -> None:
        if not isinstance(text, str):
            raise ProblemError(
                f"problem {self.name}: {what} is {text!r}: write it in quotes, as an expression over sizes"
            )
        try:
            evaluate(text, self.timed)
        except ExpressionError as error:
            raise ProblemError(f"problem {self.name}: {what}: {error}") from error
