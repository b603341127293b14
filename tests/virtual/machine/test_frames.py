"""Stack frames read from the first instructions of functions, against the frames that LLVM was told to make."""

from __future__ import annotations

import llvmlite.binding as llvm
import pytest

from gridstride.virtual.machine.frames import frame_bytes

TRIPLES = {"x86_64": "x86_64-unknown-linux-gnu", "aarch64": "aarch64-unknown-linux-gnu"}
WITH_AN_ARRAY = """
define void @kernel(ptr %warp) nounwind {{
  %a = alloca [{size} x i8], align 64
  call void @use(ptr %a, ptr %warp)
  ret void
}}
declare void @use(ptr, ptr)
"""


@pytest.mark.parametrize("size", [4096, 100_000, 3_000_000])
@pytest.mark.parametrize("processor", TRIPLES)
def test_a_frame_is_read_from_the_prologue(processor: str, size: int) -> None:
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    machine = llvm.Target.from_triple(TRIPLES[processor]).create_target_machine(opt=0)
    module = llvm.parse_assembly(WITH_AN_ARRAY.format(size=size))
    module.triple = TRIPLES[processor]
    sections = llvm.ObjectFileRef.from_data(machine.emit_object(module)).sections()
    code = next(section.data() for section in sections if section.is_text() and section.size())
    assert size <= frame_bytes(code, processor) <= size + 512


@pytest.mark.parametrize("processor", TRIPLES)
def test_a_function_without_a_frame_takes_nothing(processor: str) -> None:
    returns = {"x86_64": b"\xc3", "aarch64": bytes.fromhex("c0035fd6")}
    assert frame_bytes(returns[processor], processor) == 0
