"""Looks into a kernel while it runs: its PTX with a few instructions more beside each access to memory.

The probes write into a variable that they bring along, so the kernel is launched as it always is. Nothing else about it
changes; a kernel that races may, as ever, come out differently.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from gridstride.device.arrays import DeviceArray
from gridstride.device.choice import use
from gridstride.device.launch.kernel import Kernel
from gridstride.device.modules.module import ptx
from gridstride.judge.problem import Case
from gridstride.virtual.ptx.module import Address, Function, Immediate, Instruction, PtxModule, Register, Symbol

if TYPE_CHECKING:
    from gridstride.judge.execution.runnable import Runnable

VARIABLE = "gridstride_probe"
_BRACKET = re.compile(r"\[([^\]]+)\]")
_HEADER_END = re.compile(r"^\s*\.address_size\s+\d+[^\n]*$", re.MULTILINE)
_ACCESSES = ("ld", "ldu", "st", "atom", "red")
_OTHER_WRITERS = {"cp": {"bulk"}, "wmma": {"store"}, "st": {"async", "bulk"}, "red": {"async"}}
_BITS = {"b8": 1, "u8": 1, "s8": 1, "b128": 16}


@dataclass(frozen=True, slots=True)
class AccessSite:
    """One access in the PTX: its space, bytes for a lane, its line in the kernel's own file."""

    number: int
    instruction: Instruction
    space: str
    bytes: int
    file: str
    line: int | None
    writes: bool


def sites(module: PtxModule, entry: str) -> list[AccessSite]:
    """The plain accesses to global, shared and generic memory that a kernel and what it calls make."""
    functions = [f for f in module.functions.values() if f.defined and (f.kind != "entry" or f.name == entry)]
    result: list[AccessSite] = []
    for function in functions:
        own = _own_file(function)
        location: tuple[str, int | None] = ("", None)
        for ins in function.instructions:
            space = _space(ins)
            location = _source_location(module, ins, own) or location
            if ins.opcode in _ACCESSES and space is not None and _address(ins) is not None:
                file, line = location
                writes = ins.opcode in ("st", "atom", "red")
                result.append(AccessSite(len(result), ins, space, _bytes(ins), file, line, writes))
    return result


def overlooked(text: str, module: PtxModule, entry: str) -> bool:
    """Whether anything may write global memory where no probe can stand: bulk copies, matrix stores, surfaces, several
    instructions on a line.
    """
    lines = text.splitlines()
    functions = [f for f in module.functions.values() if f.defined and (f.kind != "entry" or f.name == entry)]
    return any(_unseen(lines, ins) for function in functions for ins in function.instructions)


def _unseen(lines: Sequence[str], ins: Instruction) -> bool:
    if ins.opcode in _OTHER_WRITERS and not _OTHER_WRITERS[ins.opcode].isdisjoint(ins.modifiers):
        return True
    if ins.opcode in ("st", "atom", "red"):
        return _space(ins) not in (None, "shared") and (_address(ins) is None or not _is_alone_in_line(lines, ins))
    return ins.opcode in ("sust", "sured", "multimem")


def _is_alone_in_line(lines: Sequence[str], ins: Instruction) -> bool:
    """Whether the instruction has its line to itself, as in what compilers write."""
    line = lines[ins.ptx_line - 1]
    return line.rstrip().endswith(";") and line.count(";") == 1


def probed(
    text: str, module: PtxModule, entry: str, chosen: Sequence[AccessSite], size: int, code: Callable[[AccessSite], str]
) -> str:
    """The PTX text with `code(site)` ahead of each chosen access, and a variable of `size` bytes for it to write to.

    In the code, %gs_address is the address (64 bits), %gs_on a predicate that is true where the access is made, and
    %gs_block, %gs_thread are linear numbers.
    """
    lines = text.splitlines()
    functions = {id(i): f for f in module.functions.values() for i in f.instructions}
    for site in sorted(chosen, key=lambda site: -site.instruction.ptx_line):
        number = site.instruction.ptx_line - 1  # from the last one on, so that those before keep their place
        if not _is_alone_in_line(lines, site.instruction):
            continue
        lines.insert(number, _wrapped(site, functions[id(site.instruction)], lines[number], code(site)))
    declared = f".visible .global .align 16 .b8 {VARIABLE}[{size}];"
    return _HEADER_END.sub(lambda match: f"{match[0]}\n{declared}", "\n".join(lines), count=1) + "\n"


@dataclass(frozen=True, slots=True)
class Probed:
    """A kernel with probes, and the variable that they write to."""

    kernel: Kernel
    variable: DeviceArray

    def run(self, runnable: Runnable, case: Case, arguments: Sequence[Any], start: np.ndarray[Any, Any]) -> Any:
        """Set the variable, launch once, and read it."""
        shape = runnable.shape(case.sizes, case.multiprocessors)
        with use(runnable.device):
            self.variable.copy_from(start)
            cooperative = runnable.launch.flags
            self.kernel.launch(
                grid=shape.grid, block=shape.block, args=tuple(arguments), shared=shape.shared, **cooperative
            )
            runnable.device.synchronize()
            return self.variable.numpy()


def build(
    runnable: Runnable, selects: Callable[[AccessSite], bool], size: int, code: Callable[[AccessSite], str]
) -> Probed | None:
    """A virtual GPU's kernel with probes; None where it has no single PTX text, or no site that is wanted."""
    with use(runnable.device):
        kernel: Any = runnable.kernel.bound().kernel
        if len(kernel.module.pieces) != 1:
            return None
        text, parsed = kernel.module.pieces[0].ptx, kernel.module.parsed
        chosen = [site for site in sites(parsed, kernel.name) if selects(site)]
        if not chosen:
            return None
        module = ptx(probed(text, parsed, kernel.name, chosen, size, code), filename="<probed>")
        instrumented = module[runnable.kernel.name if runnable.kernel.name in module.kernels else kernel.name]
        wrapper = getattr(runnable.kernel, "around", None)  # of a kernel whose parameters are more than the problem's
        return Probed(wrapper(instrumented) if wrapper else instrumented, instrumented.symbol(VARIABLE))


def _wrapped(site: AccessSite, function: Function, line: str, code: str) -> str:
    guard = site.instruction.guard
    on = "setp.eq.u32 %gs_on, 0, 0;"
    if guard is not None:
        negated = "not.pred %gs_on, " if guard.negated else "mov.pred %gs_on, "
        on = f"{negated}{_written_guard(line)};"
    return f"""{{
.reg .pred %gs_on, %gs_hit; .reg .b32 %gs_block, %gs_thread, %gs_a, %gs_b, %gs_c, %gs_n;
.reg .b64 %gs_address, %gs_at, %gs_base;
{on}
{_address_code(site, function, line)}
mov.u32 %gs_block, %ctaid.z; mov.u32 %gs_a, %nctaid.y; mov.u32 %gs_b, %ctaid.y;
mad.lo.u32 %gs_block, %gs_block, %gs_a, %gs_b; mov.u32 %gs_a, %nctaid.x; mov.u32 %gs_b, %ctaid.x;
mad.lo.u32 %gs_block, %gs_block, %gs_a, %gs_b;
mov.u32 %gs_thread, %tid.z; mov.u32 %gs_a, %ntid.y; mov.u32 %gs_b, %tid.y;
mad.lo.u32 %gs_thread, %gs_thread, %gs_a, %gs_b; mov.u32 %gs_a, %ntid.x; mov.u32 %gs_b, %tid.x;
mad.lo.u32 %gs_thread, %gs_thread, %gs_a, %gs_b;
mov.u64 %gs_base, {VARIABLE};
{code}
}}"""


def _written_guard(line: str) -> str:
    match = re.search(r"@!?\s*(%[\w$]+)", line)
    assert match is not None, line
    return match[1]


def _address_code(site: AccessSite, function: Function, line: str) -> str:
    """Puts the address of the access into %gs_address."""
    address = _address(site.instruction)
    assert address is not None
    match = _BRACKET.search(line)
    assert match is not None, line
    base = re.split(r"[+\s]", match[1].strip())[0]
    add = f"\nadd.s64 %gs_address, %gs_address, {address.offset};" if address.offset else ""
    if isinstance(address.base, Register):
        narrow = function.registers.get(address.base.name, "b64")[1:] == "32"
        move = f"cvt.u64.u32 %gs_address, {base};" if narrow else f"mov.b64 %gs_address, {base};"
        return move + add
    return f"mov.u64 %gs_address, {base};{add}"


def _address(ins: Instruction) -> Address | None:
    return next(
        (o for o in ins.operands if isinstance(o, Address) and isinstance(o.base, Register | Symbol | Immediate)), None
    )


def _space(ins: Instruction) -> str | None:
    """global, shared or generic; None for the others."""
    named = [m.partition("::")[0] for m in ins.modifiers]
    for space in ("param", "const", "local"):
        if space in named:
            return None
    return next((space for space in ("global", "shared") if space in named), "generic")


def _bytes(ins: Instruction) -> int:
    last = ins.types[-1] if ins.types else "b32"
    digits = re.sub(r"\D.*", "", last[1:]) or "32"
    element = _BITS.get(last, 4 if last.endswith("x2") else int(digits) // 8)
    return element * ins.vector


def _own_file(function: Function) -> int | None:
    return next((i.loc.outermost.file for i in function.instructions if i.loc), None)


def _source_location(module: PtxModule, ins: Instruction, own: int | None) -> tuple[str, int | None] | None:
    """File and line in the kernel's own file: of code inlined from a header, the line that called it. None for the
    compiler's "line 0", which is none: then it is that of the instruction before.
    """
    if ins.loc is None:
        return "", None
    at = next((frame for frame in ins.loc.chain if frame.file == own), ins.loc.outermost)
    return (module.files.get(at.file, ""), at.line) if at.line else None
