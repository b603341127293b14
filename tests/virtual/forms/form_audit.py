"""What the virtual GPU makes of many instructions at once: each is lowered, or refused with a message."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from unittest import mock

from instruction_forms import FIRST_LINE, program
from llvmlite import binding

from gridstride.virtual.errors import UnsupportedInstruction
from gridstride.virtual.lowering import kernel
from gridstride.virtual.lowering.analysis.affine_transfer import BlockShape
from gridstride.virtual.lowering.dispatch import EMITTERS
from gridstride.virtual.lowering.function import Lowering
from gridstride.virtual.lowering.program import Emitter
from gridstride.virtual.ptx import PtxError, parse
from gridstride.virtual.ptx.module import Instruction

SHAPE = BlockShape.of(32, 1, 1)


def lowered(texts: Sequence[str]) -> dict[str, str]:
    """For each instruction the message that refuses it, empty where it is lowered."""
    verdict = dict.fromkeys(texts, "") if _parses(texts) else {text: parsed(text) for text in texts}
    left = [text for text in texts if not verdict[text]]
    verdict.update(_refused(left))
    good = [text for text in left if not verdict[text]]
    if good:  # what is lowered is valid code
        binding.parse_assembly(kernel.lower_kernel(parse(program(good)), "probe", SHAPE).ir).verify()
    return verdict


def _parses(texts: Sequence[str]) -> bool:
    try:
        parse(program(list(texts)))
    except PtxError:
        return False
    return True


def parsed(text: str) -> str:
    """The column and the message of what parsing an instruction says; empty where it is right."""
    try:
        parse(program([text]))
    except PtxError as error:
        if error.line != FIRST_LINE:
            raise
        return f"{error.column}: {error.message}"
    return ""


def _refused(texts: Sequence[str]) -> dict[str, str]:
    """Those that lowering refuses. Most are found in one pass; what ends a block stops it and is found by itself."""
    found: dict[str, str] = {}
    while True:
        left = ["" if text in found else text for text in texts]
        with _collecting(found, left):
            try:
                kernel.lower_kernel(parse(program(left)), "probe", SHAPE)
            except UnsupportedInstruction as error:
                found[left[error.ptx_line - FIRST_LINE]] = str(error)
                continue
        return found


@contextmanager
def _collecting(found: dict[str, str], texts: Sequence[str]) -> Iterator[None]:
    def wrapped(emitter: Emitter) -> Emitter:
        def lower(cx: Lowering, ins: Instruction) -> None:
            try:
                emitter(cx, ins)
            except UnsupportedInstruction as error:
                found[texts[ins.ptx_line - FIRST_LINE]] = str(error)

        return lower

    families = {opcode: wrapped(emitter) for opcode, emitter in EMITTERS.items()}
    with mock.patch.object(kernel, "EMITTERS", families):
        yield
