"""Switching between warps: a few lines of assembly for each processor, and the first frame of a new stack."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Processor:
    """`save` bytes of callee-saved registers go on a stack; `warp` and `start` are the offsets of the register that
    carries the warp into `gs_boot` and of the return address.
    """

    assembly: tuple[str, ...]
    save: int
    warp: int
    start: int


X86_64 = Processor(
    assembly=(
        ".text",
        ".globl gs_switch",
        "gs_switch:",  # rdi: where to keep the old stack pointer, rsi: the new one
        *(f"pushq %{r}" for r in ("rbp", "rbx", "r12", "r13", "r14", "r15")),
        "movq %rsp, (%rdi)",
        "movq %rsi, %rsp",
        *(f"popq %{r}" for r in ("r15", "r14", "r13", "r12", "rbx", "rbp")),
        "ret",
        ".globl gs_boot",
        "gs_boot:",
        "movq %r12, %rdi",
        "andq $$-16, %rsp",
        "call gs_warp_main",
    ),
    save=7 * 8,
    warp=3 * 8,
    start=6 * 8,
)

_PAIRS = [("x19", "x20"), ("x21", "x22"), ("x23", "x24"), ("x25", "x26"), ("x27", "x28"), ("x29", "x30")]
_VECTORS = [("d8", "d9"), ("d10", "d11"), ("d12", "d13"), ("d14", "d15")]

AARCH64 = Processor(
    assembly=(
        ".text",
        ".globl gs_switch",
        "gs_switch:",  # x0: where to keep the old stack pointer, x1: the new one
        "sub sp, sp, #160",
        *(f"stp {a}, {b}, [sp, #{16 * i}]" for i, (a, b) in enumerate(_PAIRS + _VECTORS)),
        "mov x9, sp",
        "str x9, [x0]",
        "mov sp, x1",
        *(f"ldp {a}, {b}, [sp, #{16 * i}]" for i, (a, b) in enumerate(_PAIRS + _VECTORS)),
        "add sp, sp, #160",
        "ret",
        ".globl gs_boot",
        "gs_boot:",
        "mov x0, x19",
        "bl gs_warp_main",
    ),
    save=160,
    warp=0,
    start=5 * 16 + 8,
)

PROCESSORS = {"x86_64": X86_64, "AMD64": X86_64, "aarch64": AARCH64, "arm64": AARCH64}
"""By `platform.machine()`."""


def module_assembly(processor: Processor) -> list[str]:
    """The switch as `module asm` lines."""
    return [f'module asm "{line.replace("$$", "$")}"' for line in processor.assembly]
