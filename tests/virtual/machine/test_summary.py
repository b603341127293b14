"""The summary of a PTX text: what is kept of it on disk, and that a text seen before is not parsed again."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import gridstride as gs
from gridstride.virtual.abi.grid_launches import FUNCTION_BASE
from gridstride.virtual.launch import linking
from gridstride.virtual.machine import engine
from gridstride.virtual.machine.summary import Summary, summarise
from gridstride.virtual.ptx import parse

HEAD = ".version 8.5\n.target sm_75\n.address_size 64\n"
TEXT = (
    HEAD
    + """
.visible .global .align 4 .u32 numbers[4] = {1, 0xFFFFFFFF, 3};
.visible .const .align 8 .u64 there[2] = {numbers, numbers+4};
.func nothing() { ret; }
.visible .global .align 8 .u64 table[1] = {nothing};
.visible .entry touch(.param .u64 .ptr .global .align 4 out, .param .u32 n)
.maxntid 8, 4, 1
{
    .reg .b64 %rd<2>;
    .shared .align 16 .b8 tile[96];
    mov.u64 %rd1, tile;
    ret;
}
.visible .entry plain() { ret; }
"""
)


@pytest.fixture
def known() -> Summary:
    return summarise(parse(TEXT))


def test_entries_keep_what_a_launch_is_checked_against(known: Summary) -> None:
    touch, plain = known.entries
    assert [(p.offset, p.size, p.type, p.pointer) for p in touch.parameters] == [
        (0, 8, "u64", True),
        (8, 4, "u32", False),
    ]
    assert (touch.name, touch.static_shared, touch.most_threads) == ("touch", 96, 32)
    assert (plain.parameters, plain.static_shared, plain.most_threads) == ((), 0, None)


def test_variables_keep_their_first_bytes_and_where_addresses_go(known: Summary) -> None:
    numbers, there, table = sorted(known.variables, key=lambda v: ("numbers", "there", "table").index(v.key))
    assert (numbers.size, np.frombuffer(numbers.data, np.uint8)[:8].view("<u4").tolist()) == (16, [1, 0xFFFFFFFF])
    assert [(p.offset, p.target, p.addend) for p in there.pointers] == [(0, "numbers", 0), (8, "numbers", 4)]
    assert there.pointers[1].value(0x1000) == (0x1004).to_bytes(8, "little")
    number = list(parse(TEXT).functions).index("nothing")
    assert int.from_bytes(table.data.ljust(8, b"\0"), "little") == FUNCTION_BASE + 16 * number


def test_a_masked_address_is_its_bits_under_the_mask() -> None:
    text = HEAD + ".global .u32 v;\n.global .u8 parts[2] = {0xFF(v), 0xFF00(v)};\n"
    parts = next(v for v in summarise(parse(text)).variables if v.key == "parts")
    assert [p.value(0x1234) for p in parts.pointers] == [b"\x34", b"\x12"]


def test_a_summary_survives_the_disk(known: Summary) -> None:
    assert Summary.from_json(known.to_json()) == known


def test_a_text_seen_before_is_loaded_and_launched_without_parsing(monkeypatch: pytest.MonkeyPatch) -> None:
    text = HEAD + (
        ".visible .global .u32 start[2] = {40, 2};\n"
        ".visible .entry add(.param .u64 out)\n{\n .reg .b32 %r<4>;\n .reg .b64 %rd<3>;\n"
        " ld.param.u64 %rd1, [out];\n ld.global.u32 %r1, [start];\n ld.global.u32 %r2, [start+4];\n"
        " add.s32 %r3, %r1, %r2;\n st.global.u32 [%rd1], %r3;\n ret;\n}\n"
    )

    def run() -> int:
        out = np.zeros(1, np.int32)
        with gs.use(gs.VirtualGPU(workers=1, memory=1 << 20)):
            gs.ptx(text)["add"][1, 1](out)
        return int(out[0])

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("parsed again")

    assert run() == 42
    monkeypatch.setattr(linking, "parse", refuse)
    assert run() == 42


@pytest.mark.parametrize(
    "file",
    [
        "abi/layout.py",
        "ptx/parsing/parser.py",
        "ir/builder.py",
        "runtime/sanitize/shared_races.py",
        "lowering/kernel.py",
        "machine/session.py",
    ],
)
def test_a_change_in_any_room_that_makes_machine_code_is_another_version(
    file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "__file__", str(tmp_path / "machine" / "engine.py"))
    changed = tmp_path / file
    changed.parent.mkdir(parents=True)
    changed.write_text("before")
    before = engine.sources.__wrapped__()
    changed.write_text("after")
    assert engine.sources.__wrapped__() != before
