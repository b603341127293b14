"""Every form of instruction and operand, written by hand where no compiler emits it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from gridstride.virtual.ptx import PtxError, parse
from gridstride.virtual.ptx.module import (
    Address,
    Arguments,
    DestinationPair,
    Function,
    Guard,
    Immediate,
    Instruction,
    LabelRef,
    Negated,
    Register,
    Selected,
    Sink,
    Special,
    Symbol,
    TensorAddress,
    Vector,
)

One = Callable[..., Instruction]
Kernel = Callable[..., Function]


def r(*names: str) -> tuple[Register, ...]:
    return tuple(Register(f"%{name}") for name in names)


def n(value: int) -> Immediate:
    return Immediate("int", value)


def test_opcode_modifiers_operands_and_line(one: One) -> None:
    found = one("\n\n  ld.global.L1::no_allocate.L2::128B.v2.f32 {%f1, %f2}, [%rd1+-8];")
    assert (found.opcode, found.modifiers) == ("ld", ("global", "L1::no_allocate", "L2::128B", "v2", "f32"))
    assert found.operands == (Vector(r("f1", "f2")), Address(Register("%rd1"), -8))
    assert (found.guard, found.loc, found.ptx_line) == (None, None, 11)
    assert (found.name, found.types, found.vector) == ("ld.global.L1::no_allocate.L2::128B.v2.f32", ("f32",), 2)


def test_modifiers_may_be_set_apart_by_blanks(one: One) -> None:
    assert one("ld .global .f32 %f1, [%rd1];").modifiers == ("global", "f32")


def test_guards(one: One) -> None:
    assert one("@%p1 ret;").guard == Guard(Register("%p1"))
    assert one("@ ! %p1 ret;").guard == Guard(Register("%p1"), negated=True)


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("[%rd1]", Address(Register("%rd1"))),
        ("[%rd1+16]", Address(Register("%rd1"), 16)),
        ("[ %rd1 + 0 ]", Address(Register("%rd1"), 0)),
        ("[%rd1+-16]", Address(Register("%rd1"), -16)),
        ("[%rd1-16]", Address(Register("%rd1"), -16)),
        ("[%rd1+0x10]", Address(Register("%rd1"), 16)),
        ("[%rd1+010]", Address(Register("%rd1"), 8)),
        ("[%rd1+4*WARP_SZ-2]", Address(Register("%rd1"), 126)),
        ("[a]", Address(Symbol("a"))),
        ("[s+4]", Address(Symbol("s"), 4)),
        ("[4096]", Address(n(4096))),
        ("[0x1000]", Address(n(4096))),
        ("array[2]", Address(Symbol("array"), 8)),
        ("array[1+2]", Address(Symbol("array"), 12)),
    ],
)
def test_addresses(one: One, address: str, expected: Address) -> None:
    assert one(f"ld.f32 %f1, {address};", before=".global .f32 array[4];").operands[1] == expected


@pytest.mark.parametrize(
    ("operand", "expected"),
    [
        ("%r2", Register("%r2")),
        ("-5", n(-5)),
        ("0xFFFFFFFF", n(2**32 - 1)),
        ("1 << 4 | 3", n(19)),
        ("(2+3)*4", n(20)),
        ("~0", n(2**64 - 1)),
        ("!0", n(1)),
        ("WARP_SZ", n(32)),
        ("0f3F800000", Immediate("f32", 0x3F800000)),
        ("0d4000000000000000", Immediate("f64", 0x4000000000000000)),
        ("0.5", Immediate("f64", 0x3FE0000000000000)),
        ("%tid.x", Special("tid", "x")),
        ("%ctaid.z", Special("ctaid", "z")),
        ("%tid.r", Special("tid", "x")),
        ("%laneid", Special("laneid")),
        ("%clock64", Special("clock64")),
        ("%envreg31", Special("envreg31")),
        ("%pm7_64", Special("pm7_64")),
        ("%cluster_ctarank", Special("cluster_ctarank")),
        ("%dynamic_smem_size", Special("dynamic_smem_size")),
        ("%lanemask_lt", Special("lanemask_lt")),
        ("array", Symbol("array")),
        ("array+8", Symbol("array", 8)),
        ("array-8", Symbol("array", -8)),
        ("array[3]", Symbol("array", 12)),
        ("f", Symbol("f")),
    ],
)
def test_operands_of_mov(one: One, operand: str, expected: object) -> None:
    narrow = operand in ("%r2", "0f3F800000")
    target, kind = ("%r1", "b32") if narrow else ("%rd1", "b64")
    found = one(f"mov.{kind} {target}, {operand};", before=".global .f32 array[4]; .func f { ret; }")
    assert found.operands == (Register(target), expected)


@pytest.mark.parametrize(
    ("line", "operands"),
    [
        ("mov.b64 {%r1, _}, %rd1;", (Vector((Register("%r1"), Sink())), Register("%rd1"))),
        ("mov.b32 %r1, {%h1, %h2};", (Register("%r1"), Vector(r("h1", "h2")))),
        ("st.v4.b32 [%rd1], {%r1, 0, 0f3F800000, %r2};", None),
        (
            "setp.lt.and.s32 %p1|%p2, %r1, %r2, !%p3;",
            (DestinationPair(*r("p1", "p2")), *r("r1", "r2"), Negated(*r("p3"))),
        ),
        ("setp.lt.s32 %p1|_, %r1, 5;", (DestinationPair(Register("%p1"), Sink()), Register("%r1"), n(5))),
        (
            "shfl.sync.idx.b32 %r1|%p1, %r2, 0, 0x1f, -1;",
            (DestinationPair(*r("r1", "p1")), Register("%r2"), n(0), n(31), n(-1)),
        ),
        ("elect.sync _|%p1, -1;", (DestinationPair(Sink(), Register("%p1")), n(-1))),
        ("lop3.or.b32 %r1|%p1, %r2, %r3, %r4, 0xC0, %p2;", None),
        ("atom.global.add.f32 _, [%rd1], %f1;", (Sink(), Address(Register("%rd1")), Register("%f1"))),
        ("vabsdiff4.u32.u32.u32.add %r1, %r2.b3210, %r3.b7654, %r4;", None),
        ("tex.2d.v4.f32.s32 {%r1,%r2,%r3,%r4}, [%rd1, {%f1,%f2}];", None),
        ("bar.sync 0;", (n(0),)),
        ("bar.red.popc.u32 %r1, 1, %r2, !%p1;", (Register("%r1"), n(1), Register("%r2"), Negated(*r("p1")))),
        ("barrier.cluster.arrive.release.aligned;", ()),
        ("membar.gl;", ()),
        ("ld.global.nc.f32 %f1, [%rd1].unified;", (Register("%f1"), Address(Register("%rd1")))),
        ("ld.b128 %q1, [%rd1];", (Register("%q1"), Address(Register("%rd1")))),
    ],
)
def test_operand_forms(one: One, line: str, operands: object) -> None:
    found = one(line)
    assert operands is None or found.operands == operands


def test_selectors_of_video_instructions(one: One) -> None:
    found = one("vadd.s32.u32.s32.sat %r1.b0, %r2.b1, %r3.h1, %r4;")
    assert found.operands == (
        Selected(Register("%r1"), "b0"),
        Selected(Register("%r2"), "b1"),
        Selected(Register("%r3"), "h1"),
        Register("%r4"),
    )


def test_vmad_may_negate_an_operand(one: One) -> None:
    found = one("vmad.s32.u32.s32 %r1, %r2.h0, -%r3.b1, -%r4;")
    assert found.operands[2:] == (
        Selected(Register("%r3"), "b1", negated=True),
        Selected(Register("%r4"), "", negated=True),
    )


def test_textures_surfaces_and_tensor_maps(one: One) -> None:
    texture = ".global .texref t; .global .samplerref p; .global .surfref u;"
    assert one("tex.1d.v4.f32.f32 {%f1,%f2,%f3,%f4}, [t, {%f5}];", before=texture).operands[1] == TensorAddress(
        Symbol("t"), r("f5")
    )
    assert one("tex.level.2d.v4.f32.f32 {%f1,%f2,%f3,%f4}|%p1, [t, p, {%f5,%f6}], %f7;", before=texture).operands == (
        DestinationPair(Vector(r("f1", "f2", "f3", "f4")), Register("%p1")),
        TensorAddress(Symbol("t"), r("f5", "f6"), Symbol("p")),
        Register("%f7"),
    )
    assert one("sust.b.1d.b32.clamp [u, %r1], %r2;", before=texture).operands[0] == TensorAddress(Symbol("u"), r("r1"))
    found = one(
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster.L2::cache_hint"
        " [%r1], [%rd1, {%r2, %r3}], [%r4+8], %h1, %rd2;"
    )
    assert found.modifiers[4:7] == ("shared::cluster", "global", "mbarrier::complete_tx::bytes")
    assert found.operands == (
        Address(Register("%r1")),
        TensorAddress(Register("%rd1"), r("r2", "r3")),
        Address(Register("%r4"), 8),
        *r("h1", "rd2"),
    )


# One line for each family that the ISA has and the tests above have not.
FAMILIES = """
abs.f32 %f1, %f2; | add.cc.u32 %r1, %r2, %r3; | addc.u32 %r1, %r2, %r3; | activemask.b32 %r1;
alloca.u64 %rd1, %rd2, 16; | stacksave.u64 %rd1; | stackrestore.u64 %rd1; | applypriority.global.L2::evict_normal [%rd1], 128;
atom.cas.b32 %r1, [%rd1], %r2, %r3; | atom.global.v2.f32.add {%f1,%f2}, [%rd1], {%f3,%f4};
atom.relaxed.gpu.global.add.noftz.f16x2 %r1, [%rd1], %r2; | bar.arrive 1, 64; | bar.warp.sync %r1; | bar.cta.sync 0, 64;
barrier.sync %r1, %r2; | barrier.cta.red.and.pred %p1, 1, %p2; | bfe.u32 %r1, %r2, 3, 4; | bfi.b32 %r1, %r2, %r3, 4, 5;
bfind.shiftamt.u32 %r1, %r2; | bmsk.clamp.b32 %r1, %r2, %r3; | brev.b32 %r1, %r2; | brkpt; | clz.b64 %r1, %rd1;
cnot.b32 %r1, %r2; | copysign.f32 %f1, %f2, %f3; | cos.approx.ftz.f32 %f1, %f2; | cp.async.ca.shared.global [%r1], [%rd1], 16;
cp.async.cg.shared.global.L2::128B [%r1], [%rd1], 16, %r2; | cp.async.commit_group; | cp.async.wait_group 2;
cp.async.wait_all; | cp.async.mbarrier.arrive.noinc.shared.b64 [%r1]; | cp.async.bulk.commit_group;
cp.async.bulk.wait_group.read 0; | cp.async.bulk.prefetch.L2.global [%rd1], %r1;
cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd1], %r2, [%r3];
cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%rd1], [%r1], %r2;
createpolicy.fractional.L2::evict_last.b64 %rd1, 1.0; | createpolicy.range.global.L2::evict_first.b64 %rd1, [%rd2], 64, 128;
cvt.rn.f16x2.f32 %r1, %f1, %f2; | cvt.rn.satfinite.e4m3x2.f32 %h1, %f1, %f2; | cvt.pack.sat.u8.s32.b32 %r1, %r2, %r3, 0;
cvt.rna.tf32.f32 %r1, %f1; | cvta.to.global.u64 %rd1, %rd2;
discard.global.L2 [%rd1], 128; | div.rn.f32 %f1, %f2, %f3; | dp2a.lo.u32.u32 %r1, %r2, %r3, %r4; | dp4a.s32.u32 %r1, %r2, %r3, %r4;
ex2.approx.f32 %f1, %f2; | exit; | fence.acq_rel.gpu; | fence.proxy.async.shared::cta; | fence.mbarrier_init.release.cluster;
fence.proxy.tensormap::generic.acquire.gpu [%rd1], 128; | fma.rn.relu.f16x2 %r1, %r2, %r3, %r4; | fns.b32 %r1, %r2, %r3, 1;
getctarank.shared::cluster.u32 %r1, %r2; | griddepcontrol.wait; | isspacep.global %p1, %rd1; | istypep.texref %p1, %rd1;
ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%r1,%r2,%r3,%r4}, [%r5]; | ldu.global.f32 %f1, [%rd1]; | lg2.approx.f32 %f1, %f2;
mad.wide.s32 %rd1, %r1, 4, %rd2; | mad24.lo.s32 %r1, %r2, %r3, %r4; | madc.hi.u32 %r1, %r2, %r3, %r4;
mapa.shared::cluster.u32 %r1, %r2, 1; | match.all.sync.b32 %r1|%p1, %r2, -1; | match.any.sync.b64 %r1, %rd1, -1;
max.NaN.f32 %f1, %f2, %f3; | mbarrier.init.shared.b64 [%r1], 32; | mbarrier.inval.shared.b64 [%r1];
mbarrier.arrive.shared.b64 %rd1, [%r1]; | mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [%r1], %r2;
mbarrier.try_wait.parity.shared.b64 %p1, [%r1], %r2, 1000; | mbarrier.test_wait.shared.b64 %p1, [%r1], %rd1;
mbarrier.pending_count.b64 %r1, %rd1; | mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%r1], 64;
mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%f1,%f2,%f3,%f4}, {%r1,%r2,%r3,%r4}, {%r5,%r6}, {%f5,%f6,%f7,%f8};
mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1,%f2,%f3,%f4}, {%r1,%r2}, {%r3,%r4}, {%f1,%f2,%f3,%f4}, %r5, 0x0;
movmatrix.sync.aligned.m8n8.trans.b16 %r1, %r2; | mul.hi.u32 %r1, %r2, %r3; | mul24.lo.u32 %r1, %r2, %r3;
multimem.ld_reduce.global.add.f32 %f1, [%rd1]; | multimem.red.global.add.f32 [%rd1], %f1; | nanosleep.u32 100;
neg.s32 %r1, %r2; | not.pred %p1, %p2; | or.pred %p1, %p2, %p3; | pmevent 7; | popc.b32 %r1, %r2; | prefetch.global.L2 [%rd1];
prefetch.tensormap [%rd1]; | prefetchu.L1 [%rd1]; | prmt.b32.f4e %r1, %r2, %r3, %r4; | rcp.rn.f64 %fd1, %fd2;
red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%r1], %r2, [%r3]; | red.global.add.f32 [%rd1], %f1;
redux.sync.add.s32 %r1, %r2, -1; | rem.s32 %r1, %r2, %r3; | rsqrt.approx.f32 %f1, %f2; | sad.u32 %r1, %r2, %r3, %r4;
selp.f32 %f1, %f2, 0f00000000, %p1; | set.gt.u32.f32 %r1, %f1, %f2; | setmaxnreg.inc.sync.aligned.u32 232;
shf.l.wrap.b32 %r1, %r2, %r3, %r4; | shl.b32 %r1, %r2, 3; | sin.approx.f32 %f1, %f2; | slct.f32.s32 %f1, %f2, %f3, %r1;
sqrt.rn.f32 %f1, %f2; | st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.u32 [%r1], %r2, [%r3];
stmatrix.sync.aligned.m8n8.x2.shared.b16 [%r1], {%r2,%r3};
st.global.L2::cache_hint.f32 [%rd1], %f1, %rd2; | subc.u32 %r1, %r2, %r3; | szext.wrap.u32 %r1, %r2, 5; | tanh.approx.f32 %f1, %f2;
tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r1], 64; | tcgen05.ld.sync.aligned.32x32b.x2.b32 {%r1,%r2}, [%r3];
tensormap.replace.tile.box_dim.global.b1024.b32 [%rd1], 0x1, %r1; | testp.notanumber.f32 %p1, %f1; | trap; | txq.width.b32 %r1, [%rd1];
vote.sync.ballot.b32 %r1, %p1, -1; | vote.all.pred %p1, !%p2; | vmad.s32.u32.s32 %r1, %r2.h0, %r3.b1, %r4;
vset.u32.u32.lt %r1, %r2, %r3; | vavrg2.u32.u32.u32 %r1, %r2, %r3, %r4; | suld.b.1d.b32.trap %r1, [%rd1, {%r2}];
sured.b.add.1d.u32.trap [%rd1, {%r1}], %r2; | suq.width.b32 %r1, [%rd1]; | tld4.r.2d.v4.f32.f32 {%f1,%f2,%f3,%f4}, [%rd1, {%f5,%f6}];
wgmma.fence.sync.aligned; | wgmma.commit_group.sync.aligned; | wgmma.wait_group.sync.aligned 0;
wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f1,%f2,%f3,%f4}, %rd1, %rd2, %p1, 1, 1, 0, 0;
wmma.load.a.sync.aligned.row.m16n16k16.f16 {%r1,%r2,%r3,%r4,%r5,%r6,%r7,%r8}, [%rd1], 16; | xor.b32 %r1, %r2, %r3;
wmma.store.d.sync.aligned.row.m16n16k16.f32 [%rd1], {%f1,%f2,%f3,%f4,%f5,%f6,%f7,%f8}, 16;
clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [%r1], [%r2];
clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 %p1, %q1; | and.b32 %r1, %r2, 0xff; | min.ftz.f32 %f1, %f2, %f3;
"""  # noqa: E501


@pytest.mark.parametrize("line", [line.strip() for part in FAMILIES.splitlines() for line in part.split(" | ") if line])
def test_families_of_the_isa(one: One, line: str) -> None:
    assert one(line).name == line.split()[0].rstrip(";")


def test_vector_registers_become_scalars(kernel: Kernel) -> None:
    found = kernel(
        ".reg .v4 .f32 V; .reg .v2 .b32 W<2>; ld.global.v4.f32 V, [%rd1]; add.f32 %f1, V.x, V.a; mov.b32 %r1, W1.y;"
    )
    load, add, move = found.instructions
    assert load.operands[0] == Vector(tuple(Register(f"V.{axis}") for axis in "xyzw"))
    assert add.operands == (Register("%f1"), Register("V.x"), Register("V.w"))
    assert move.operands[1] == Register("W1.y")
    assert {name: kind for name, kind in found.registers.items() if name[0] in "VW"} == {
        **{f"V.{axis}": "f32" for axis in "xyzw"},
        **{f"W{i}.{axis}": "b32" for i in range(2) for axis in "xy"},
    }


def test_register_ranges_and_lists(kernel: Kernel) -> None:
    found = kernel(".reg .b16 x, b<3>, c;", registers="")
    assert found.registers == {"x": "b16", "b0": "b16", "b1": "b16", "b2": "b16", "c": "b16"}


def test_calls_take_every_form(kernel: Kernel) -> None:
    before = ".func (.param .b32 r) f(.param .b32 a, .param .b32 b); .func g; .func h(.reg .u32 %x);"
    found = kernel(
        "{ .param .b32 p0; .param .b32 p1; .param .b32 r0; call.uni (r0), f, (p0, p1);\n"
        "call g; call h, (%r1); call h, (5);\n"
        "proto: .callprototype (.param .b32 _) _ (.param .b32 _, .param .b32 _);\n"
        "none: .callprototype _ ();\n"
        "list: .calltargets g, h;\n"
        "call (r0), %rd1, (p0, p1), proto; call %rd1, none; call %rd1, (%r1), list; }",
        before=before,
    )
    calls = [instruction.operands for instruction in found.instructions]
    no = Arguments(())
    passed = Arguments((Symbol("p0"), Symbol("p1")))
    returned = Arguments((Symbol("r0"),))
    assert calls == [
        (returned, Symbol("f"), passed),
        (no, Symbol("g"), no),
        (no, Symbol("h"), Arguments(r("r1"))),
        (no, Symbol("h"), Arguments((n(5),))),
        (returned, Register("%rd1"), passed, LabelRef("proto")),
        (no, Register("%rd1"), no, LabelRef("none")),
        (no, Register("%rd1"), Arguments(r("r1")), LabelRef("list")),
    ]
    assert [len(part) for part in (found.prototypes["proto"].params, found.prototypes["proto"].returns)] == [2, 1]
    assert found.call_targets == {"list": ("g", "h")}


def test_indexed_branch_names_a_target_list(kernel: Kernel) -> None:
    found = kernel("L: M0: M1: ts: .branchtargets L, M<2>; brx.idx %r1, ts;")
    assert found.branch_targets == {"ts": ("L", "M0", "M1")}
    assert found.instructions[0].operands == (Register("%r1"), LabelRef("ts"))


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("add.s32 %r1, %r2;", "'add': takes 3 operands, found 2"),
        ("bra;", "'bra' takes 1 operand, found 0"),
        ("bra 5;", "expected the name of a label"),
        ("ret 5;", "'ret' takes 0 operands, found 1"),
        ("addd.s32 %r1, %r2, %r3;", "unknown instruction 'addd'; did you mean 'add'"),
        ("mov.u32 %r99, 0;", "undefined register '%r99'"),
        ("mov.u32 %r1, %tidd.x;", "undefined register '%tidd.x'; did you mean '%tid.x'"),
        ("mov.u32 %r1, bogus;", "undefined name 'bogus'"),
        ("mov.u32 %r1, %r2.q;", "'%r2' has no component 'q'"),
        ("bra NOWHERE;", "undefined label 'NOWHERE'"),
        ("LOOP: bra LOOQ;", "undefined label 'LOOQ'; did you mean 'LOOP'"),
        ("L: L: ret;", "label 'L' is defined twice"),
        ("{ L: ret; } bra L;", "undefined label 'L'"),
        ("{ .reg .b32 x; } mov.u32 x, 0;", "undefined name 'x'"),
        (".reg .b32 x; .reg .f32 x;", "'x' is defined twice in this scope"),
        (".reg .b32 %r1;", "'%r1' is defined twice"),
        (".reg .b32 %tid;", "'%tid' is a special register"),
        (".reg .b32 %x<4000000000>;", "outside 0 to 262144"),
        (".reg .b32 x<262144>;", "registers in one function"),
        ("@%r1 ret;", "not a predicate"),
        ("@5 ret;", "expected a register or name, found '5'"),
        ("mov.u32 %r1, ;", "expected an operand, found ';'"),
        ("mov.u32 %r1 %r2;", "expected ',' or ';'"),
        ("mov.u32 %r1, %r2", "expected ',' or ';'"),
        ("ld.u32 %r1, [%r2;", "expected ']'"),
        ("ld.u32 %r1, [%tid.x];", "cannot be an address"),
        ("ld.u32 %r1, [];", "expected a register or name"),
        ("ld.u32 %r1, [%rd1+1.5];", "must be an integer"),
        ("ld.u32 %r1, [a, [a]];", "cannot hold an address"),
        ("ld.v4.f32 {%f1, %f2}, [%rd1];", "expected a vector of 4 of .f32 or wider, found a vector of 2"),
        ("ld.f32 {%f1, %f2}, [%rd1];", "expected a .f32 or wider register, found a vector of 2"),
        ("ld.v2.f32 %f1, [%rd1];", "expected a vector of 2 of .f32 or wider, found '%f1'"),
        ("mov.b64 {%r1, {%r2}}, %rd1;", "cannot hold a vector"),
        ("mov.b64 {}, %rd1;", "expected an operand, found '}'"),
        ("setp.eq.s32 5|%p1, 0, 0;", "expected|only registers"),
        ("setp.eq.s32 %p1|5, 0, 0;", "expected a register or name"),
        ("call nothing;", "undefined function 'nothing'"),
        ("call (%r1) f;", "expected ',' after what a call returns"),
        ("call a;", "undefined function 'a'"),
        ("L: call %rd1, L;", "not the label of a .callprototype or .calltargets list"),
        ("L: brx.idx %r1, L;", "not the label of a .branchtargets list"),
        ("brx.idx %r1, gone;", "undefined label 'gone'"),
        ("t: .branchtargets L; L: bra t;", "'t' is not the label of an instruction"),
        ("t: .branchtargets t; L: bra L;", "'t' is not the label of an instruction"),
        ("brx.idx %r1, %r2;", "undefined label '%r2'"),
        ("brx.idx %r1;", "'brx' takes 2 operands, found 1"),
        ("t: .branchtargets gone;", "undefined label 'gone'"),
        (".bogus;", "no place in a function body"),
        (".shard .b32 x;", "did you mean '.shared'"),
        ("{ " * 300, "nested more than 256 deep"),
        ("{ ret;", "'{' is not closed"),
        (".loc 1 2 3, inlinedat 1 2 3", "expected function_name or inlined_at"),
        ("5;", "expected an instruction"),
        ("array[%r1];", "unknown instruction"),
        ("ld.f32 %f1, a[%r1];", "an array index must be a constant"),
        ("mov.u32 %r1, 0x;", "malformed number"),
        ("mov.u32 %r1, 'a';", "has no place in PTX"),
    ],
)
def test_malformed_body_gets_one_message(text: Callable[..., str], body: str, message: str) -> None:
    with pytest.raises(PtxError, match=message):
        parse(text(body))
