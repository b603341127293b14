"""Several parsed modules as one, as the device linker joins them: symbols resolved across files, names of a file's own
kept apart, the strong definition taken where others are weak or common.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

from gridstride.protocol import LinkError
from gridstride.virtual.errors import source_name
from gridstride.virtual.ptx.module import Function, Instruction, PtxModule, SourceLocation, Symbol, Variable
from gridstride.virtual.ptx.parsing.signature import shape

_FILES = 1 << 20
"""File numbers of the second module start here, those of the third at twice that, and so on."""

_REASONS = dict.fromkeys(
    ("cudaDeviceSynchronize", "__cudaDeviceSynchronizeDeprecationAvoidance"),
    "cudaDeviceSynchronize in device code ended with CUDA 12's dynamic parallelism: a kernel cannot wait for the "
    "kernels it launches; launch what needs their results into cudaStreamTailLaunch, or from the host",
) | dict.fromkeys(
    ("cudaLaunchDevice", "cudaLaunchDeviceV2", "cudaGetParameterBuffer", "cudaGetParameterBufferV2"),
    "the dynamic parallelism of CUDA 11 (CDP1) is not there: compile without CUDA_FORCE_CDP1_IF_SUPPORTED",
)

_RUNTIME = dict.fromkeys(("__cuda", "cudaGr", "cudaCG"), "CUDA's device runtime has it, the virtual GPU's does not")

Definition = Function | Variable


def link(modules: Sequence[PtxModule], *, external: Collection[str] = frozenset()) -> PtxModule:
    """The modules joined; `external` are the functions that the machine itself has (printf, malloc).

    LinkError names every symbol that is used and defined nowhere, defined twice, or declared otherwise than defined.
    """
    parts = [_moved(m, index, _renames(modules, index)) for index, m in enumerate(modules)]
    linker = _Linker(parts, external)
    linked = parts[0] if len(parts) == 1 else linker.joined()
    linker.check()
    return _without_aliases(linked) if linked.aliases else linked


class _Linker:
    def __init__(self, modules: Sequence[PtxModule], external: Collection[str]) -> None:
        self.modules, self.external = modules, external
        self.aliases = {name: target for m in modules for name, target in m.aliases.items()}
        self.problems: list[str] = []

    def joined(self) -> PtxModule:
        first = self.modules[0]
        for m in self.modules[1:]:
            if m.address_size != first.address_size:
                self.problems.append(
                    f"addresses have {first.address_size} bits in {first.filename} and {m.address_size} in {m.filename}"
                )
        functions = self._resolved(lambda m: m.functions, _function_problem)
        variables = self._resolved(lambda m: m.variables, _variable_problem)
        for name in functions.keys() & variables.keys():
            self.problems.append(f"`{_shown(name)}` is a function in one file and a variable in another")
        options = dict.fromkeys(o for m in self.modules for o in m.target_options)
        return replace(
            first,
            version=max(m.version for m in self.modules),
            target=max((m.target for m in self.modules), key=_newness),
            functions=functions,
            variables=variables,
            files={number: file for m in self.modules for number, file in m.files.items()},
            aliases=self.aliases,
            target_options=tuple(options),
            pragmas=tuple(p for m in self.modules for p in m.pragmas),
            filename=", ".join(m.filename for m in self.modules),
        )

    def _resolved(self, table: Callable[[PtxModule], Mapping[str, Any]], problem: _Problem) -> dict[str, Any]:
        """Each name once, in the order of the files."""
        symbols: dict[str, Any] = {}
        for name in dict.fromkeys(name for m in self.modules for name in table(m)):
            held = [(table(m)[name], m.filename) for m in self.modules if name in table(m)]
            chosen = self._chosen(name, held)
            for other, file in held:
                what = problem(chosen[0], other)
                if what:
                    self.problems.append(f"`{_shown(name)}` {what}: {chosen[1]} and {file}")
            symbols[name] = chosen[0]
        return symbols

    def _chosen(self, name: str, held: list[tuple[Any, str]]) -> tuple[Any, str]:
        defined = [h for h in held if _defined(h[0])]
        strong = [h for h in defined if h[0].linkage not in ("weak", "common")]
        if len(strong) > 1 and not _dynamic(strong[0][0]):
            files = " and ".join(file for _, file in strong)
            self.problems.append(
                f"`{_shown(name)}` is defined in {files}: let one file define it and the others declare it extern, or "
                "make each static"
            )
        if not strong and defined and isinstance(defined[0][0], Variable):
            return max(defined, key=lambda h: h[0].size)  # .common: the largest
        aligned = [h for h in held if _dynamic(h[0])]
        if aligned:
            return max(aligned, key=lambda h: h[0].align)
        return (strong or defined or held)[0]

    # -- what is not there --------------------------------------------------------------------------------------------
    def check(self) -> None:
        """Raises what was found wrong, unresolved symbols included."""
        have = {n for m in self.modules for n, d in _symbols_of(m) if _defined(d)}
        have |= {*self.aliases, *self.external}
        for name, uses in self._uses(have).items():
            shown = " and ".join(uses)
            why = _REASONS.get(name) or _RUNTIME.get(name[:6])
            where = "has no body or value here" if len(self.modules) == 1 else "is defined in none of the files"
            self.problems.append(
                f"`{_shown(name)}` is used in {shown}: {why}" if why else
                f"`{_shown(name)}` is used in {shown} and {where}{self._near(name)}"
            )  # fmt: skip
        if self.problems:
            raise LinkError(self._message())

    def _near(self, name: str) -> str:
        """A definition of the same name in the source, with other parameters."""
        for m in self.modules:
            if any(_shown(n) == _shown(name) and d.defined for n, d in m.functions.items()):
                return f" ({m.filename} has a `{_shown(name)}` with other parameters)"
        return ""

    def _message(self) -> str:
        files = ", ".join(m.filename for m in self.modules)
        hint = ""
        if len(self.modules) == 1 and "has no body" in self.problems[-1]:
            hint = "; gs.cuda([…]) or gs.link(…) brings in the file that defines it"
        return f"linking {files}: {'; '.join(self.problems)}{hint}"

    def _uses(self, have: set[str]) -> dict[str, list[str]]:
        """Names that instructions or initial values use and nobody has, with up to three places each."""
        uses: dict[str, list[str]] = {}
        for m in self.modules:
            missing = {n for n, d in _symbols_of(m) if not _defined(d)} - have
            for name, user in _named(m, missing) if missing else ():
                users = uses.setdefault(name, [])
                if user not in users and len(users) < 3:
                    users.append(user)
        return uses


_Problem = Callable[[Any, Any], str]


def _named(module: PtxModule, names: set[str]) -> Iterator[tuple[str, str]]:
    for f in module.functions.values():
        own = {*f.variables, *(v.name for v in (*f.params, *f.returns))}
        for ins in f.instructions:
            for symbol in _symbols(ins.operands):
                if symbol.name in names and symbol.name not in own:
                    yield symbol.name, _source_position(module, ins)
    for v in module.variables.values():
        for item in v.initializer or ():
            if isinstance(item, Symbol) and item.name in names:
                yield item.name, f"{module.filename} by `{_shown(v.name)}`"


def _source_position(module: PtxModule, ins: Instruction) -> str:
    if ins.loc is None:
        return f"{module.filename}, PTX line {ins.ptx_line}"
    at = ins.loc.outermost
    return f"{module.files.get(at.file, module.filename)}:{at.line}"


def _symbols(value: Any) -> Iterator[Symbol]:
    if isinstance(value, Symbol):
        yield value
    elif isinstance(value, tuple):
        for item in value:
            yield from _symbols(item)
    elif hasattr(value, "__dataclass_fields__"):
        for f in fields(value):
            yield from _symbols(getattr(value, f.name))


def _symbols_of(module: PtxModule) -> Iterator[tuple[str, Definition]]:
    yield from module.functions.items()
    yield from module.variables.items()


def _defined(held: Definition) -> bool:
    if isinstance(held, Function):
        return held.defined
    return not held.external or _dynamic(held)


def _dynamic(held: Definition) -> bool:
    """`extern __shared__ T name[]`: every kernel's dynamic shared memory, which needs no definition."""
    return isinstance(held, Variable) and held.space == "shared" and held.external


def _function_problem(chosen: Function, other: Function) -> str:
    if chosen.kind != other.kind:
        return "is a kernel in one file and a device function in the other"
    if shape(chosen) != shape(other):
        return "takes or returns something else in the two files"
    return ""


def _variable_problem(chosen: Variable, other: Variable) -> str:
    if chosen.space != other.space:
        return f"is .{chosen.space} in one file and .{other.space} in the other"
    sized = chosen.size and other.size and not {chosen.linkage, other.linkage} & {"common", "weak"}
    if sized and chosen.size != other.size:
        return f"has {chosen.size} bytes in one file and {other.size} in the other"
    return ""


def _newness(target: str) -> tuple[int, str]:
    digits = "".join(filter(str.isdigit, target))
    return int(digits or 0), target


def _shown(name: str) -> str:
    return source_name(name).partition("@")[0]


# -- names and places of a module among others ------------------------------------------------------------------------
def _renames(modules: Sequence[PtxModule], index: int) -> dict[str, str]:
    """New names for what is a file's own and has its name in another file too."""
    other_names = {n for k, m in enumerate(modules) if k != index for n in (*m.functions, *m.variables)}
    module = modules[index]
    own = [(n, d) for n, d in _symbols_of(module) if n in other_names]
    return {n: f"{n}@{index + 1}" for n, d in own if index and _private(d)} | {
        n: f"{n}@1" for n, d in own if not index and _private(d) and _public_elsewhere(modules, n)
    }


def _private(held: Definition) -> bool:
    if isinstance(held, Function) and (held.kind == "entry" or not held.defined):
        return False
    return held.linkage == "" and not _dynamic(held)


def _public_elsewhere(modules: Sequence[PtxModule], name: str) -> bool:
    tables = [t for m in modules[1:] for t in (m.functions, m.variables)]
    return any(name in t and not _private(t[name]) for t in tables)


def _moved(module: PtxModule, index: int, names: dict[str, str]) -> PtxModule:
    """A module with its files numbered apart from the others' and its private names changed where they clash."""
    if not index and not names:
        return module
    mover = _Mover(_FILES * index, names)
    functions = {names.get(n, n): mover.function(f) for n, f in module.functions.items()}
    variables = {names.get(n, n): mover.variable(v) for n, v in module.variables.items()}
    aliases = {names.get(n, n): names.get(t, t) for n, t in module.aliases.items()}
    files = {number + mover.files: file for number, file in module.files.items()}
    return replace(module, functions=functions, variables=variables, aliases=aliases, files=files)


class _Mover:
    def __init__(self, files: int, names: dict[str, str]) -> None:
        self.files, self.names = files, names
        self._locations: dict[int, tuple[SourceLocation, SourceLocation]] = {}

    def function(self, f: Function) -> Function:
        names = {n: to for n, to in self.names.items() if n not in f.variables}
        body = tuple(self._statement(s, names) for s in f.body)
        variables = {n: self.variable(v, rename=False) for n, v in f.variables.items()}
        targets = {label: tuple(names.get(n, n) for n in to) for label, to in f.call_targets.items()}
        name = self.names.get(f.name, f.name)
        return replace(f, name=name, body=body, variables=variables, call_targets=targets)

    def variable(self, v: Variable, *, rename: bool = True) -> Variable:
        initial = v.initializer and tuple(_renamed(item, self.names) for item in v.initializer)
        return replace(v, name=self.names.get(v.name, v.name) if rename else v.name, initializer=initial)

    def _statement(self, s: Any, names: dict[str, str]) -> Any:
        if not isinstance(s, Instruction):
            return s
        operands = _renamed(s.operands, names) if names else s.operands
        return replace(s, operands=operands, loc=s.loc and self._moved_location(s.loc))

    def _moved_location(self, loc: SourceLocation) -> SourceLocation:
        moved = self._locations.get(id(loc))
        if moved is None:
            inner = loc.inlined_at and self._moved_location(loc.inlined_at)
            moved = self._locations[id(loc)] = (loc, replace(loc, file=loc.file + self.files, inlined_at=inner))
        return moved[1]


def _without_aliases(module: PtxModule) -> PtxModule:
    """The module with functions named by their own names, so that what they do is known wherever they are called."""
    mover = _Mover(0, dict(module.aliases))
    aliases = module.aliases.keys()
    functions = {n: f if n in aliases else mover.function(f) for n, f in module.functions.items()}
    variables = {n: mover.variable(v) for n, v in module.variables.items()}
    return replace(module, functions=functions, variables=variables)


def _renamed(value: Any, names: Mapping[str, str]) -> Any:
    if isinstance(value, Symbol):
        return replace(value, name=names[value.name]) if value.name in names else value
    if isinstance(value, tuple):
        return tuple(_renamed(item, names) for item in value)
    if hasattr(value, "__dataclass_fields__"):
        return replace(value, **{f.name: _renamed(getattr(value, f.name), names) for f in fields(value)})
    return value
