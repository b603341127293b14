"""A load or store whose address has a linear form, as a function that all accesses of that form share.

The bounds check, the vector access and the careful way beside it take 30 to 60 lines of IR; a kernel has hundreds of
accesses and few forms of them. Code that is compiled quickly calls the function, and optimised code has it inlined
(engine.py); the careful way, which hardly ever runs, is a function of its own in both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gridstride.virtual.abi.hardware_limits import LANES
from gridstride.virtual.abi.memory_records import SITE
from gridstride.virtual.ir.builder import Builder, Value, constant, wide
from gridstride.virtual.lowering import access as layout
from gridstride.virtual.lowering.access import Access, LaneGroup
from gridstride.virtual.lowering.analysis.affine import Affine, Extended
from gridstride.virtual.lowering.function import Lowering
from gridstride.virtual.lowering.linear_values import spread


@dataclass(frozen=True, slots=True)
class AccessForm:
    """What accesses that share a function have in common. `shape` is a linear form without its scalars."""

    access: Access
    shape: Affine
    values: tuple[str, ...] = ()
    """Types of what a store writes; none for a load."""
    always: bool = True
    """Of a store: every lane executes it."""
    guarded: bool = False
    """Of a store to one address: perhaps no lane executes it."""

    @property
    def result(self) -> str:
        """What a load gives: an element for all lanes, or one for each; several as a structure."""
        if self.values:
            return "void"
        element = self.access.type if self.shape.uniform else wide(self.access.type)
        return element if self.access.count == 1 else f"{{ {', '.join([element] * self.access.count)} }}"

    @property
    def through_memory(self) -> bool:
        """Whether the careful way leaves its vectors in a buffer of the caller: no machine returns so many."""
        return not self.values and not self.shape.uniform and self.access.count > 1

    @property
    def parameters(self) -> list[str]:
        """What the careful way takes: warp, site and lanes, the form's scalars, and the values or a buffer for them."""
        scalars = [f"i{width} s{n}" for n, width in enumerate(self.shape.widths())]
        values = [f"{type_} x{n}" for n, type_ in enumerate(self.values)]
        return ["warp* warp", "i32 site", "i32 mask", *scalars, *values, *(["ptr out"] if self.through_memory else [])]

    @property
    def bounds(self) -> list[str]:
        """What the check takes besides: the limit of shared memory and its place, or the site's record."""
        return ["i32 bound", "i64 shared"] if self.access.space == "shared" else ["ptr bound"]


def load(cx: Lowering, form: Affine, access: Access, site: int) -> list[Value]:
    """The elements, scalars where all lanes read one address. `form` has few groups."""
    shared = AccessForm(_in_runtime(access), _bare(form))
    result = _call(cx, shared, form, site, [])
    if access.count == 1:
        return [result]
    element = access.type if form.uniform else wide(access.type)
    return [cx.b.define(element, f"extractvalue {result!r}, {j}") for j in range(access.count)]


def store(cx: Lowering, form: Affine, access: Access, site: int, values: list[Value]) -> None:
    """Writes `values`, scalars or vectors of the access' type, in the lanes that execute the instruction."""
    types = tuple(v.type for v in values)
    guarded = form.uniform and cx.ins.guard is not None
    _call(cx, AccessForm(_in_runtime(access), _bare(form), types, cx.always(), guarded), form, site, values)


def _in_runtime(access: Access) -> Access:
    """With one name for the spaces that are the same here."""
    return access if access.space == "shared" else Access("global", access.size, access.count)


def _bare(form: Affine) -> Affine:
    """What decides how an access is laid out, alone."""
    e = form.extended
    terms = tuple((k, None) for k, _ in form.terms)
    return Affine(form.width, None, form.k, terms, e and Extended(e.signed, e.scale, _bare(e.inner)))


def _call(cx: Lowering, shared: AccessForm, form: Affine, site: int, values: Sequence[Value]) -> Value:
    b, functions = cx.b, cx.program.access_functions
    if shared not in functions:
        functions[shared] = (f"access{len(functions)}", layout.widest_span(form, shared.access))
        _define(cx, shared, functions[shared][0])
    name, span = functions[shared]
    cx.program.widen(site, span)
    cx.program.ir.inlined(name)
    scalars = [b.resize(v, f"i{width}") for v, width in zip(form.scalars(), form.widths(), strict=True)]
    out = [cx.program.scratch(cx)[1]] if shared.through_memory else []
    if shared.access.space == "shared":
        bounds = [cx.program.shared_limit(cx, span, shared.access.bytes), cx.field("shared")]
    else:
        bounds = [b.offset(cx.field("sites"), SITE.size * site)]
    return b.call(shared.result, name, cx.warp, constant("i32", site), cx.active(), *scalars, *values, *out, *bounds)


def _define(cx: Lowering, shared: AccessForm, name: str) -> None:
    """The function: a check, and behind it the fast way or the careful one."""
    ir, access, careful = cx.program.ir, shared.access, f"careful_{name}"
    parameters = [*shared.parameters, *shared.bounds]
    with ir.function(shared.result, name, *parameters, internal=True) as (b, (*arguments, bound)):
        fields = {}
        if access.space == "shared":
            fields, bound = {"shared": bound}, arguments.pop()
        mask, form, values = _received(shared, arguments)
        with cx.within(b, None if shared.always else mask, fields):
            groups = layout.groups_of(cx, form)
            ok = layout.checks(cx, groups, access, bound)
            if shared.guarded:
                ok = b.op("and", ok, b.compare("ne", mask, constant("i32", 0)))
            fast, slow = b.new_label("fast"), b.new_label("slow")
            b.branch(ok, fast, slow, likely=True)
            b.start(fast)
            _fast(cx, shared, groups, values)
        b.start(slow)
        through = shared.through_memory
        result = b.call("void" if through else shared.result, careful, *arguments)
        if through:
            _give(b, shared, _buffered(b, access, arguments[-1]))
        else:
            b.ret(result if result.name else None)
    _define_careful(cx, shared, careful)


def _received(shared: AccessForm, parameters: Sequence[Value]) -> tuple[Value, Affine, list[Value]]:
    """Of the parameters: the lanes, the address, the values of a store."""
    end = 3 + len(shared.shape.widths())
    return (
        parameters[2],
        shared.shape.rebuild(list(parameters[3:end])),
        list(parameters[end : end + len(shared.values)]),
    )


def _fast(cx: Lowering, shared: AccessForm, groups: list[LaneGroup], values: list[Value]) -> None:
    """The access as it is inside its allocation; returns."""
    b, access = cx.b, shared.access
    if values and shared.shape.uniform:
        layout.store_one(cx, groups[0], access, values)
    elif values:
        layout.store_groups(cx, groups, access, values)
    elif shared.shape.uniform:
        _give(b, shared, layout.load_one(cx, layout.pointer(cx, groups[0].address, access), access))
        return
    else:
        _give(b, shared, layout.load_groups(cx, groups, access))
        return
    b.ret()


def _give(b: Builder, shared: AccessForm, elements: list[Value]) -> None:
    """Returns what was loaded."""
    if len(elements) == 1:
        b.ret(elements[0])
        return
    result = Value("poison", shared.result)
    for j, element in enumerate(elements):
        result = b.define(shared.result, f"insertvalue {result!r}, {element!r}, {j}")
    b.ret(result)


def _buffered(b: Builder, access: Access, out: Value) -> list[Value]:
    """The vectors in a buffer."""
    step = access.size * LANES
    return [b.load(wide(access.type), b.offset(out, step * j), align=access.size) for j in range(access.count)]


def _define_careful(cx: Lowering, shared: AccessForm, name: str) -> None:
    """Lane by lane with exact bounds: remembers the allocation for the site, or faults."""
    access, through = shared.access, shared.through_memory
    result = "void" if through else shared.result
    with cx.program.ir.function(result, name, *shared.parameters, cold=True, internal=True) as (b, parameters):
        mask, form, values = _received(shared, parameters)
        where = b.alloca(wide("i64"), align=64)
        out = parameters[-1] if through else b.alloca(f"[{access.bytes * LANES} x i8]", align=64)
        with cx.within(b, mask, {}):
            b.store(b.resize(spread(cx.b, form), "i64"), where)
        for j, value in enumerate(values):
            b.store(b.splat(value), b.offset(out, access.size * LANES * j), align=access.size)
        sizes = constant("i32", access.size), constant("i32", access.count)
        space = constant("i32", int(access.space == "shared"))
        b.call("void", "gs_store" if values else "gs_load", *parameters[:3], where, out, *sizes, space)
        if values or through:
            return
        loaded = _buffered(b, access, out)
        if form.uniform:
            lane = b.op("and", b.intrinsic("cttz", mask, constant("i1", False)), constant("i32", LANES - 1))
            loaded = [b.extract(v, lane) for v in loaded]
        _give(b, shared, loaded)
