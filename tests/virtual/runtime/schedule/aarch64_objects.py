"""Compiles what it is given for AArch64 and prints, as JSON, each object's machine (of its ELF header) and bytes.

A process of its own: LLVM aborts on what a processor cannot do. Words: `runtime`, or a rung as OP/RUNG; `observed` has
those that follow built as observed launches run them. Passes and code generation are engine.compile_object's own.
"""

from __future__ import annotations

import json
import platform
import sys
from typing import Any

from gridstride.compiler.cuda.compile_cuda import compile_cuda
from gridstride.judge.find import find
from gridstride.judge.header import read_kernel
from gridstride.virtual.lowering.analysis.affine_transfer import BlockShape
from gridstride.virtual.lowering.kernel import lower_kernel
from gridstride.virtual.lowering.observed.counting import Counting
from gridstride.virtual.machine import engine, runtime_objects
from gridstride.virtual.ptx.parsing.parser import parse

PROCESSOR, FEATURES = "neoverse-n1", "+neon,+fullfp16"
"""Of Ampere's Altra and the first Graviton with FP16: the least that AArch64 servers have."""


def main() -> None:
    llvm = engine._llvm()
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    target = llvm.Target.from_triple("aarch64-unknown-linux-gnu")
    machine = target.create_target_machine(cpu=PROCESSOR, features=FEATURES, opt=1, reloc="default", jit=True)
    engine._machine = lambda level=1: machine
    platform.machine = lambda: "aarch64"
    observed, found = False, {}
    for word in sys.argv[1:]:
        if word == "observed":
            observed = True
        elif word == "runtime":
            found |= {f"runtime {number}": described(part.ir, part.effort) for number, part in enumerate(runtime())}
        else:
            found[word] = described(kernel(word, observed), "usual")
    print(json.dumps(found))


def runtime() -> tuple[runtime_objects.RuntimeObject, ...]:
    """The scheduler, what observed launches call, and what few kernels do."""
    whole = runtime_objects.split()
    return (*whole.core, whole.rare)


def kernel(rung: str, observed: bool) -> str:
    """LLVM IR of a rung of a ladder, for blocks of its own header's shape or of 128 threads."""
    problem, _, name = rung.partition("/")
    path = find(problem).path / "rungs" / f"{name}.cu"
    file = read_kernel(path)
    compiled = compile_cuda(file.source, filename=str(path), arch="sm_90a")
    module = parse(compiled.ptx, filename=str(path))
    return lower_kernel(module, module.entries[0].name, BlockShape.of(128, 1, 1), Counting() if observed else None).ir


def described(ir: str, effort: runtime_objects.Effort) -> dict[str, Any]:
    """What the object says of itself."""
    lines = [line for line in ir.splitlines() if not line.startswith("module asm")]  # llvmlite parses the host's only
    data = engine.compile_object("\n".join(lines), effort=effort)
    return {"machine": int.from_bytes(data[18:20], "little"), "bytes": len(data)}


if __name__ == "__main__":
    main()
