"""AArch64: what is lowered compiles for it, and its switch between warps keeps what a call must keep.

Nothing is run here: that takes such a processor, or an emulator of one.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from gridstride.virtual.runtime.schedule.fibers import AARCH64

SCRIPT = Path(__file__).with_name("aarch64_objects.py")
EM_AARCH64 = 183  # of ELF's e_machine
FAST = [
    "saxpy/03_vectorised", "reduction/03_shuffle", "matmul/03_shared_tile", "skinny_gemm/03_tensor_cores",
    "skinny_gemm/07_warpgroup",
]  # fmt: skip
OBSERVED = ["reduction/01_atomic", "transpose/04_swizzled", "grayscale/03_shared_stage"]
KEPT = {f"x{number}" for number in range(19, 31)} | {f"d{number}" for number in range(8, 16)}
"""Registers that a call leaves as they were, by the procedure call standard of AArch64 (AAPCS64, section 6.1)."""


@pytest.mark.timeout(600)
@pytest.mark.parametrize("words", [["runtime"], FAST, ["observed", *OBSERVED]], ids=["runtime", "fast", "observed"])
def test_what_is_lowered_compiles_for_aarch64(words: list[str]) -> None:
    done = subprocess.run([sys.executable, SCRIPT, *words], capture_output=True, text=True, timeout=500)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert len(found) == (3 if words == ["runtime"] else len([word for word in words if "/" in word]))
    assert {each["machine"] for each in found.values()} == {EM_AARCH64}
    assert min(each["bytes"] for each in found.values()) > 1000


def pairs(opcode: str) -> dict[str, int]:
    """Register -> offset on the stack, of the switch's stores or loads of pairs."""
    found = {}
    for line in AARCH64.assembly:
        if match := re.fullmatch(rf"{opcode} (\w+), (\w+), \[sp, #(\d+)\]", line):
            found |= {match[1]: int(match[3]), match[2]: int(match[3]) + 8}
    return found


def test_the_switch_keeps_every_register_that_a_call_must_keep() -> None:
    stored = pairs("stp")
    assert set(stored) == KEPT
    assert pairs("ldp") == stored
    assert sorted(stored.values()) == list(range(0, AARCH64.save, 8))
    assert f"sub sp, sp, #{AARCH64.save}" in AARCH64.assembly
    assert f"add sp, sp, #{AARCH64.save}" in AARCH64.assembly


def test_a_new_stack_starts_where_the_switch_returns_to() -> None:
    """`ret` goes to x30; gs_boot passes on the warp that the switch has put in x19."""
    stored = pairs("stp")
    assert (stored["x30"], stored["x19"]) == (AARCH64.start, AARCH64.warp)
    boot = AARCH64.assembly[AARCH64.assembly.index("gs_boot:") :]
    assert boot == ("gs_boot:", "mov x0, x19", "bl gs_warp_main")


def test_the_switch_assembles(tmp_path: Path) -> None:
    """llvmlite's assembler knows this host's instructions only."""
    assembler = shutil.which("llvm-mc")
    if assembler is None:
        pytest.skip("needs llvm-mc: apt-get install llvm")
    source, target = tmp_path / "switch.s", tmp_path / "switch.o"
    source.write_text("\n".join(AARCH64.assembly) + "\n")
    words = ["-triple=aarch64-linux-gnu", "-filetype=obj", str(source), "-o", str(target)]
    done = subprocess.run([assembler, *words], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    data = target.read_bytes()
    assert int.from_bytes(data[18:20], "little") == EM_AARCH64
    assert {b"gs_switch", b"gs_boot", b"gs_warp_main"} <= set(data.split(b"\0"))
