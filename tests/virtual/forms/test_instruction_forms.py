"""The instruction list to its last entry: each form that ptxas takes for sm_90a works or is refused with its reason."""

from __future__ import annotations

import random
import re
from functools import cache
from pathlib import Path

import form_audit
import instruction_forms as table
import numpy as np
import pytest
from form_coverage import MODELS

import gridstride as gs
from gridstride.virtual.ptx.module import Special
from gridstride.virtual.ptx.parsing.names import SPECIALS

ABSENT = {
    r"multimem\.": "it reaches the memory of several GPUs",
    r"alloca\.|stacksave\.|stackrestore\.": "a stack that grows while a kernel runs",
    r"madc\.hi\.[su]16$|madc\.hi\.sat": "the ISA has no carry into them; an H200 gives neither sum",
    r"fma\.r[zmp].*bf16": "the ISA has only .rn; for a single bf16 an H200 gives what is no such product",
    r"mma\.sp.*m16n8k32.*f16": "a selector that the ISA does not have for this shape",
    r"txq\.(num_mipmap_levels|channel_data_type)|suq\.(channel_order|array_size)": "queries that no compiler writes",
    r"sured.*\.xor": "the ISA has no such reduction of surfaces",
}
"""What ptxas takes and the virtual GPU refuses, by the name of the form, with the reason."""

MOST_LENIENT = 160
"""Forms of the list that ptxas refuses and we take: modifiers without effect (cvt.sat to a wider type)."""


@cache
def split() -> tuple[list[table.Form], list[table.Form]]:
    """The forms that ptxas takes and those that it refuses."""
    rows = [row for pattern in table.patterns() for row in table.accepted(pattern)]
    return [form for form, ok in rows if ok], [form for form, ok in rows if not ok]


def absent(name: str) -> bool:
    return any(re.search(pattern, name) for pattern in ABSENT)


def test_the_recording_is_of_this_list() -> None:
    assert list(table.recorded()) == list(table.patterns())
    assert all(len(list(table.forms(p))) == len(digits) for p, digits in table.recorded().items())


def test_every_form_that_ptxas_takes_is_lowered_to_valid_code_or_refused_for_a_reason() -> None:
    taken = [form for form in split()[0] if not re.match(r"fma\.r[zmp].*bf16", form.name)]  # these do not parse
    verdict = form_audit.lowered([form.text for form in taken])
    lacking = [form.text for form in taken if verdict[form.text] and not absent(form.name)]
    assert not lacking, lacking[:10]


def test_what_ptxas_refuses_is_refused() -> None:
    _, refused = split()
    some = random.Random(1).sample(refused, 1500)
    verdict = form_audit.lowered([form.text for form in some])
    lenient = [form.text for form in some if not verdict[form.text]]
    assert len(lenient) <= MOST_LENIENT * 1500 / len(refused) + 20, lenient


def test_exchanged_operands_are_refused_as_ptxas_refuses_them() -> None:
    """It also refuses special registers in what is no mov or cvt, where the meaning is clear; so the two may differ."""
    operands = table.fixture()["operands"]
    assert list(operands) == list(dict.fromkeys(table.exchanged(800)))
    held = {text: ok for text, ok in operands.items() if not text.startswith("multimem")}  # has no line in the grammar
    differs = [text for text, ok in held.items() if bool(form_audit.parsed(text)) == bool(ok)]
    others = [text for text in differs if "%tid" not in text and "%clock" not in text]
    assert len(others) <= 25, others
    assert len(differs) <= 40, differs


@pytest.mark.parametrize(("text", "column", "message"), [
    ("add.u32 %t0, %t1, %w1;", 23, "expected a .u32 register or constant, found '%w1' of type .b64"),
    ("add.f32 %s0, %s1, 1;", 23, "expected a .f32 register or constant, found 1"),
    ("add.u32 %t0, %t1;", 5, "takes 3 operands, found 2"),
    ("add.sat.u32 %t0, %t1, %t2;", 5, "'add' cannot have '.sat' together with"),
    ("add.foo.u32 %t0, %t1, %t2;", 5, "'add' has no modifier '.foo'"),
    ("sin.f32 %s0, %s1;", 5, "'sin' of this kind needs .approx"),
    ("ld.global.v2.u32 {%t0, %t1, %t2}, [%w0];", 22, "expected a vector of 2 of .u32 or wider, found a vector of 3"),
    ("ld.global.u32 %t0, %w0;", 24, "expected an address in brackets"),
    ("ld.global.u32 %t0, [%s0];", 24, "expected an address in brackets"),
    ("setp.eq.u32 %t0, %t1, %t2;", 17, "expected a .pred register, found '%t0' of type .b32"),
    ("lop3.b32 %t0, %t1, %t2, %t3, %t4;", 34, "expected an integer constant"),
    ("tex.2d.v4.f32.f32 {%t0, %t1, %t2, %t3}, [%w0, {%t4}];", 45,
     "an object in brackets, in a 64-bit register, with 2 coordinates or more, found an address with 1 coordinate"),
    ("tex.2d.v4.f32.f32 {%t0, %t1, %t2}, [%w0, {%t4, %t5}];", 23,
     "expected a vector of 4 of .f32, found a vector of 3"),
    ("tex.2d.v2.f32.f32 {%t0, %t1}, [%w0, {%t4, %t5}];", 5, "'tex' of this kind needs .f16x2"),
    ("tld4.x.2d.v4.f32.f32 {%t0, %t1, %t2, %t3}, [%w0, {%t4, %t5}];", 5, "'tld4' has no modifier '.x'"),
    ("txq.width.b32 %t0, [%w0+8];", 24, "expected an object in brackets"),
    ("suld.b.1d.v2.b32.trap {%t0}, [%w0, {%t1}];", 27, "expected a vector of 2 of .b32 or wider, found a vector of 1"),
    ("sust.b.1d.b32 [%w0, {%t0}], %t1;", 5, "'sust' of this kind needs one of .clamp, .trap, .zero"),
    ("sust.b.a2d.b32.zero [%w0, {%t0, %t1}], %t2;", 25,
     "with 3 coordinates or more, found an address with 2 coordinates"),
    ("sured.b.and.1d.u32.trap [%w0, {%t0}], %t1;", 5, "'sured' of this kind needs"),
    ("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%w0], [%w1], %t0;", 5,
     "takes 4 to 5 operands"),
    ("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%w0, {%t0}], [%w1];", 59,
     "expected the address of a tensor map in brackets, with 2 coordinates"),
    ("cp.async.bulk.tensor.2d.shared::cta.global.bulk_group [%w0, {%t0, %t1}], [%w1];", 5, "'cp'"),
    ("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%t0, %t1}, %w0, %w1, %p0, 1, 1, 0, 0;", 55,
     "expected a vector of 4 of .f32, found a vector of 2"),
    ("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%t0, %t1, %t2, %t3}, %w0, %w1, %p0, 1, 2, 0, 0;", 95,
     "expected an integer constant out of -1, 1, found 2"),
    ("wgmma.mma_async.sync.aligned.m64n40k32.s32.s8.s8 {%t0}, %w0, %w1, %p0;", 5,
     "needs one of .m64n8k32, .m64n16k32, .m64n24k32"),
    ("tensormap.replace.tile.swizzle_mode.b1024.b32 [%w0], 4;", 58, "expected an integer constant out of 0, 1, 2, 3"),
    ("tensormap.replace.tile.global_stride.b1024.b64 [%w0], 4, %w1;", 59, "expected an integer constant out of"),
    ("wgmma.wait_group.sync.aligned 8;", 35, "expected an integer constant 0 to 7, found 8"),
])  # fmt: skip
def test_the_message_says_where_and_what_is_expected(text: str, column: int, message: str) -> None:
    said = form_audit.parsed(text)
    assert said.startswith(f"{column}: "), said
    assert message in said


def test_every_pattern_names_a_test_against_an_independent_model() -> None:
    """form_coverage.py names the test for each opcode; a pattern without one, or a test that is gone, fails here."""
    sources = {path.name: path.read_text() for path in Path(__file__).parents[1].rglob("test_*.py")}
    for pattern in table.patterns():
        for form, ok in table.accepted(pattern):
            if not ok or absent(form.name):
                continue
            named = next((tests for key, tests in MODELS.items() if re.match(key, form.name)), None)
            assert named, f"{form.name} has no test against a model"
            for name in named.split():
                file, _, test = name.partition("::")
                assert f"def {test}(" in sources[file], f"{name}, the test of {form.name}, does not exist"


CLUSTERS = ("cluster", "nclusterid", "reserved_smem")
"""Special registers of clusters, and of shared memory that the system keeps to itself."""


def test_every_special_register_is_read_or_refused_by_its_name() -> None:
    texts = {}
    for name, special in SPECIALS.items():
        assert isinstance(special, Special)
        if special.component == "w" or (special.component is None and f"{name}.x" in SPECIALS):
            continue
        wide = name.endswith(("64", "globaltimer", "exec"))
        texts[f"mov.{'u64 %w0' if wide else 'u32 %t0'}, {name};"] = name
    for text, message in form_audit.lowered(list(texts)).items():
        name = texts[text]
        assert not message or (name[1:].startswith(CLUSTERS) and name.partition(".")[0] in message), text


def test_old_texts_read_sixteen_bits_of_a_special_register() -> None:
    """As PTX had them before 2.0; cvt and mov may still (PTX ISA, special registers)."""
    ptx = """.version 7.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 p)
{
    .reg .u64 %a<3>; .reg .u32 %r<5>; .reg .u16 %h<2>;
    ld.param.u64 %a1, [p];
    cvt.u32.u16 %r1, %ctaid.x;
    cvt.u32.u16 %r2, %ntid.x;
    mov.u16 %h1, %tid.x;
    cvt.u32.u16 %r3, %h1;
    mad.lo.u32 %r4, %r1, %r2, %r3;
    mul.wide.u32 %a2, %r4, 4;
    add.u64 %a1, %a1, %a2;
    st.u32 [%a1], %r4;
    ret;
}
"""
    x = np.full(96, -1, np.int32)
    gs.ptx(ptx)["k"][3, 32](x)
    assert x.tolist() == list(range(96))
