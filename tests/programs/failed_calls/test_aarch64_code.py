"""Code of AArch64 as zig's clang writes it behind a call, compiled here and only read: is the result looked at?"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from gridstride.programs.failed_calls.aarch64_code import decoded
from gridstride.programs.failed_calls.result_use import is_result_dropped
from gridstride.programs.toolchain.wheels import Toolchain, environment

BRANCH_AND_LINK = bytes.fromhex("00000094")
"""bl, whose target a linker fills in."""
DECLARED = "int call(int); int other(int); int none(void); void *make(long); extern int kept; extern double real;\n"
BODIES = {
    "int f(void) { return call(1) ? 2 : 3; }": False,
    "int f(void) { return call(1) + 1; }": False,
    "void f(void) { kept = call(1); }": False,
    "void f(int *p) { p[3] = call(1); }": False,
    "void f(int *p) { kept = p[call(1)]; }": False,
    "void f(void) { other(call(1)); }": False,
    "int f(int n) { int e = call(n); other(2); return e; }": False,
    "int f(int n) { int e = call(1); return n > 3 ? e : 4; }": False,
    "void f(void) { if (call(1) & 8) other(2); }": False,
    "void f(void) { real = call(1); }": False,
    "void f(void) { call(1); none(); other(1); }": False,  # a function without arguments might have had one
    "int f(void) { call(1); return 0; }": True,
    "int f(int n) { call(1); return n; }": True,
    "void f(int n) { call(1); other(n); }": True,
    "void f(int *p) { call(1); other(p[2]); }": True,
    "void f(long *p) { call(1); p[1] = p[2] + 3; make(p[0]); }": True,
    "void f(void) { call(1); other(kept); }": True,
    "int f(int n) { call(1); return n > 3 ? n * 5 : n - 7; }": True,
    "void f(int n) { call(1); if (n) other(1); else other(2); }": True,
}


@pytest.mark.parametrize("level", ["-O0", "-O2"])
def test_what_a_call_returned(tools: Toolchain, tmp_path: Path, level: str) -> None:
    wrong = {}
    for number, (body, dropped) in enumerate(BODIES.items()):
        source, target = tmp_path / f"{number}.c", tmp_path / f"{number}.o"
        source.write_text(DECLARED + body)
        words = ["-target", "aarch64-linux-gnu", level, "-fno-sanitize=undefined", "-c", str(source), "-o", str(target)]
        subprocess.run([str(tools.zig), "cc", *words], check=True, env=environment())
        code = target.read_bytes()
        site = next(at for at in range(0, len(code), 4) if code[at : at + 4] == BRANCH_AND_LINK) + 4
        found = is_result_dropped(site, lambda address, size, code=code: code[address : address + size], decoded)
        if found is not dropped:
            wrong[body] = found
    assert wrong == {}


@pytest.mark.parametrize(
    ("name", "text", "dropped"),
    [
        ("ret: the caller may look", "c0035fd6", False),
        ("cbz w0", "40000034 20008052", False),
        ("tbnz w0, #3", "40001837 20008052", False),
        ("movk x0 keeps the other bits", "2000a0f2", False),
        ("an atomic", "200028b8 00008052", False),
        ("mov w0, #0", "00008052", True),
        ("ldr x0, [sp, #8]", "e00740f9", True),
        ("ldp x0, x1, [sp]", "e00740a9", True),
        ("str w0, [sp]", "e00300b9", False),
        ("b over cbz w0 to mov w0, #0", "02000014 40000034 00008052", True),
        ("nop; adrp x0", "1f2003d5 00000090", True),
        ("prfm pldl1keep, [x1]; str w0, [sp]", "200080f9 e00300b9", False),
    ],
)
def test_single_instructions(name: str, text: str, dropped: bool) -> None:
    code = bytes.fromhex(text) + bytes(32)
    assert is_result_dropped(0, lambda address, size: code[address : address + size], decoded) is dropped, name
