"""The instruction set: one row per opcode, with everything that any room asks of an opcode.

The rows lie beside this file by family, as text. Opcodes that agree in every column and form may share a row; none
stands in two. No column may be left out and none has a default: what an instruction is must be said where it is added,
and the import fails until it is. The columns:

    class     what it is counted as, and how control goes on after it: one of `Class`
    operands  `forms` where the indented lines below the row settle them; else how many there may be, `4` or `2-4`, and
              the emitter checks the rest; `added` for what no text has and the lowering puts in
    target    the least target that has it, `sm_90`; `bulk:sm_90 sm_80` asks for sm_90 where all of the words before the
              colon are among its modifiers (`::` and what follows left out); `-` for every target that is left
    writes    `first`: its first operand, unless that is an address; `-`: no register; a word: the first operand where
              the word is among its first two modifiers
    result    how what it writes varies over the lanes of a warp: one of `Uniformity`; `varying:local,shared` where one
              of the words must be among the modifiers for it to vary, else as the word before, or `uniform`
    meaning   what becomes of an operand that means nothing, in the observed build: one of `Meaning`
    order     `meets`: lanes may count on what other lanes of the warp did before; `polls`: a thread does it while it
              waits for another one; `holds`: it may hold its lanes until others come, after which they have met
    cluster   the modifier with which it makes a kernel one that knows of its cluster; `always`; `-`
    pointer   the operands that may hold the pointer where the result is one: `1`, `1-2`, `1-` for the first source and
              all after it; `-` where it computes with indices, bits and floats, or reads its result from memory

What code an opcode becomes is said in dispatch.py, which has one function for each row.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import TypeVar

from gridstride.virtual.ptx import isa_arithmetic, isa_memory, isa_warps


class Class(Enum):
    """What an instruction is counted as. Some classes say more than the counters do: see instruction_classes.py."""

    ARITHMETIC = "arithmetic"
    """By its type: fp32, fp64, half or integer."""
    MULTIPLY = "multiply"
    """The same; of integers it takes a multiply-add."""
    MULTIPLY_ADD = "multiply_add"
    DIVISION = "division"
    """Arithmetic that is a short program of its own, unless approximate."""
    SPECIAL = "special"
    ROOT = "root"
    """Special functions that are a short program, unless approximate."""
    CONVERT = "convert"
    MOVE = "move"
    MEMORY = "memory"
    TEXTURE = "texture"
    QUERY = "query"
    """Asks a texture or surface for its size; counted with the integers."""
    TENSOR = "tensor"
    WARP = "warp"
    BARRIER = "barrier"
    BRANCH = "branch"
    LEAVE = "leave"
    """Ends its lanes, or returns them to the caller."""
    CALL = "call"
    OTHER = "other"
    """Orders, hints and what has no unit of its own: counted with the integers."""


class Uniformity(Enum):
    """How a result varies over the lanes of a warp."""

    UNIFORM = "uniform"
    """It is the same in all lanes where all operands are."""
    AFFINE = "affine"
    """The same, and a linear function of the lane where operands are: affine_transfer.py has the rule."""
    GROUP = "group"
    """Every active lane gets the same, whatever the operands are."""
    VARYING = "varying"
    """Lanes get their own, whatever the operands are."""


class Meaning(Enum):
    """What becomes of operands that mean nothing: memory and registers that nothing has written."""

    OPERANDS = "operands"
    """The result means nothing in the lanes where an operand does."""
    DECIDED = "decided"
    """The same, but for operands that cannot matter: `x ^ x`, `false && x`, what is not selected."""
    LANES = "lanes"
    """The result comes from other lanes, one or all of the group: votes, reductions, shuffles, transposes."""
    PRODUCT = "product"
    """A product of matrices: sums stay what they were, and without any of A or of B nothing of it means anything."""
    LOADED = "loaded"
    """The result is what memory holds; the address matters, and a guard, and what an atomic brings."""
    USED = "used"
    """Operands decide what is written, where, who waits or where control goes: a finding."""
    NOTHING = "nothing"
    """No operand changes a value or memory: hints and orders; or there is none."""
    ENDS = "ends"
    """What comes out counts as meaning something: calls, whose arguments are not followed."""


@dataclass(frozen=True, slots=True)
class Opcode:
    """A row. `operands` is None where `forms` has them; `targets` are words with the target that they need, the first
    that fits counts; `writes` is None for no register, else the words of which one must be there, if any; `pointer` are
    the operands that may hold the pointer that the result is.
    """

    name: str
    kind: Class
    operands: tuple[int, int] | None
    added: bool
    targets: tuple[tuple[frozenset[str], str], ...]
    writes: frozenset[str] | None
    result: Uniformity
    varies_with: frozenset[str]
    meaning: Meaning
    meets: bool
    polls: bool
    holds: bool
    cluster: str
    pointer: slice
    forms: tuple[str, ...]

    @property
    def ends_block(self) -> bool:
        """True for branches, returns, exits and traps, guarded or not."""
        return self.kind in (Class.BRANCH, Class.LEAVE)


COLUMNS = ("opcode", "class", "operands", "target", "writes", "result", "meaning", "order", "cluster", "pointer")
_ORDERS = {"-": (False, False, False), "meets": (True, False, False), "polls": (False, True, False),
           "meets polls": (True, True, False), "holds": (True, False, True)}  # fmt: skip
WordsT = TypeVar("WordsT", bound=Enum)


def opcodes(table: str) -> Iterator[Opcode]:
    """The rows of a table; ImportError for one that lacks a column or says what a column does not know."""
    head, *lines = [line for line in table.splitlines() if line.strip() and not line.startswith("#")]
    if tuple(head.replace("|", " ").split()) != COLUMNS:
        raise ImportError(f"the columns of the instruction set are {' | '.join(COLUMNS)}, not {head}")
    for line in lines:
        if line.startswith(" ") and (" | " in line or " :" not in line):
            raise ImportError(f"{line}: neither a row, which begins with its opcode, nor the form of one")
    starts = [at for at, line in enumerate(lines) if not line.startswith(" ")]
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        yield from _row(lines[start], tuple(line.strip() for line in lines[start + 1 : end]))


def _row(line: str, forms: tuple[str, ...]) -> Iterator[Opcode]:
    cells = [cell.strip() for cell in line.split("|")]
    if len(cells) != len(COLUMNS) or not all(cells):
        raise ImportError(
            f"a row of the instruction set has the columns {' | '.join(COLUMNS)}, which this lacks: {line}"
        )
    names, kind, operands, target, writes, result, meaning, order, cluster, pointer = cells
    if (operands == "forms" and not forms) or order not in _ORDERS:
        raise ImportError(f"{line}: " + (f"no order is {order!r}" if forms else "the lines with its forms are missing"))
    result, _, varies = result.rpartition("varying:") if ":" in result else (result, "", "")
    meets, polls, holds = _ORDERS[order]
    row = Opcode(
        name="",
        kind=_word(Class, kind, line),
        operands=_count(operands, line),
        added=operands == "added",
        targets=_targets(target, line),
        writes=None if writes == "-" else frozenset(writes.split(",")) - {"first"},
        result=_word(Uniformity, result.strip() or "uniform", line),
        varies_with=frozenset(varies.split(",")) - {""},
        meaning=_word(Meaning, meaning, line),
        meets=meets,
        polls=polls,
        holds=holds,
        cluster="" if cluster == "-" else cluster,
        pointer=_operands_at(pointer, line),
        forms=forms,
    )
    yield from (replace(row, name=name) for name in names.split())


def _word(choice: type[WordsT], word: str, line: str) -> WordsT:
    try:
        return choice(word)
    except ValueError:
        choices = ", ".join(str(member.value) for member in choice)
        raise ImportError(f"{line}: {choice.__name__.lower()} is one of {choices}, not {word!r}") from None


def _count(text: str, line: str) -> tuple[int, int] | None:
    if text in ("forms", "added"):
        return None
    low, _, high = text.partition("-")
    if not (low + high).isdecimal():
        raise ImportError(f"{line}: operands are `forms`, `added` or a count, not {text!r}")
    return int(low), int(high or low)


def _operands_at(text: str, line: str) -> slice:
    if text == "-":
        return slice(0, 0)
    first, dash, last = text.partition("-")
    if not first.isdecimal() or (last and not last.isdecimal()):
        raise ImportError(f"{line}: pointer is `-` or operands such as `1`, `1-2` or `1-`, not {text!r}")
    return slice(int(first), None if dash and not last else int(last or first) + 1)


def _targets(text: str, line: str) -> tuple[tuple[frozenset[str], str], ...]:
    rules = [] if text == "-" else [rule.rpartition(":") for rule in text.split()]
    for _, _, target in rules:
        if not target.removeprefix("sm_").removesuffix("a").isdecimal():
            raise ImportError(f"{line}: target is `-` or the least one, such as sm_90 or sm_90a, not {target!r}")
    return tuple((frozenset(words.split(".")) - {""}, target) for words, _, target in rules)


def collected(tables: Sequence[str]) -> Mapping[str, Opcode]:
    """All rows by opcode; ImportError for one that stands in two."""
    rows: dict[str, Opcode] = {}
    for table in tables:
        for opcode in opcodes(table):
            if opcode.name in rows:
                raise ImportError(f"{opcode.name} has two rows in the instruction set")
            rows[opcode.name] = opcode
    return rows


ISA: Mapping[str, Opcode] = collected([isa_arithmetic.ROWS, isa_memory.ROWS, isa_warps.ROWS])


def complete(table: str, opcodes: Iterable[str], names_needed: Iterable[str]) -> None:
    """ImportError where a table of functions by opcode lacks one of those wanted, or has one too many."""
    wrong = sorted(set(opcodes).symmetric_difference(names_needed))
    if wrong:
        raise ImportError(f"{table} must have one function for each of its opcodes: see {', '.join(wrong)}")
