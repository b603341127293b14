"""Directives of module level, variables and initializers."""

from __future__ import annotations

import pytest

from gridstride.virtual.ptx import PtxError, parse
from gridstride.virtual.ptx.module import Immediate, PtxModule, Symbol, Variable
from gridstride.virtual.ptx.parsing.initializers import image

HEAD = ".version 8.5\n.target sm_90a, texmode_independent, debug\n.address_size 64\n"


def module(text: str) -> PtxModule:
    return parse(HEAD + text)


def variable(text: str, name: str = "v") -> Variable:
    return module(text).variables[name]


def values(found: Variable) -> list[int]:
    assert found.initializer is not None
    return [item.bits for item in found.initializer if isinstance(item, Immediate)]


def test_header_gives_version_target_options_and_address_size() -> None:
    found = module("")
    assert (found.version, found.target, found.address_size) == ((8, 5), "sm_90a", 64)
    assert found.target_options == ("texmode_independent", "debug")


@pytest.mark.parametrize(
    "target", ["sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_90a", "sm_100", "sm_100a", "sm_120f"]
)
def test_every_target_from_turing_on_is_read(target: str) -> None:
    assert parse(f".version 9.0\n.target {target}\n").target == target


def test_the_address_size_is_32_where_nothing_is_said() -> None:
    assert parse(".version 6.0 .target sm_75").address_size == 32


def test_comments_of_both_kinds_stand_anywhere() -> None:
    found = parse("// é\n/* *** \n { */.version/**/8.5 .target//x\nsm_90 /*/ */ .address_size 64 //end")
    assert found.version == (8, 5)


def test_trailing_nul_of_nvrtc_is_passed_over() -> None:
    assert parse(HEAD + "\0").target == "sm_90a"


def test_variable_takes_space_type_alignment_and_linkage() -> None:
    found = variable(".visible .global .align 16 .v2 .f32 v[3];")
    assert (found.space, found.type, found.align, found.vector) == ("global", "f32", 16, 2)
    assert (found.count, found.size, found.linkage, found.external) == (3, 24, "visible", False)


def test_a_variable_is_aligned_to_its_vector_where_nothing_is_said() -> None:
    assert variable(".global .v4 .f32 v;").align == 16
    assert variable(".shared .b8 v[100];").align == 1


def test_extern_array_without_size_counts_zero() -> None:
    found = variable(".extern .shared .align 16 .b8 v[];")
    assert (found.count, found.size, found.external, found.align) == (0, 0, True, 16)


def test_one_declaration_may_name_several_variables_and_ranges() -> None:
    found = module(".global .u32 a, b[2] = {1, 2}, c<3>;").variables
    assert list(found) == ["a", "b", "c0", "c1", "c2"]
    assert found["b"].initializer is not None
    assert found["c2"].initializer is None


def test_constant_bank_and_attributes_are_kept() -> None:
    assert variable(".const[3] .f32 v;").bank == 3
    assert variable(".global .attribute(.managed) .u32 v;").attributes == ("managed",)
    assert variable(".global .attribute(.unified(19, 95)) .u32 v;").attributes == ("unified(19, 95)",)


def test_common_weak_and_extern_redeclaration() -> None:
    found = module(".common .global .u64 c; .weak .global .u32 w; .extern .global .u32 v; .visible .global .u32 v = 3;")
    assert found.variables["c"].linkage == "common"
    assert found.variables["w"].linkage == "weak"
    assert values(found.variables["v"]) == [3]


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("1 + 2 * 3", 7),
        ("(1 + 2) * 3", 9),
        ("10 - 4 - 3", 3),
        ("-7 / 2", -3),
        ("-7 % 3", -1),
        ("7 % -3", 1),
        ("1 << 3 | 1", 9),
        ("1 | 2 ^ 3 & 2", 1),
        ("1 < 2 == 1", 1),
        ("0 || 2 && 1", 1),
        ("!5 + ~0U", 2**64 - 1),
        ("3 > 2 ? 10 : 20", 10),
        ("0 ? 1 : 0 ? 2 : 3", 3),
        ("-1 > 0U", 1),
        ("-8 >> 1", -4),
        ("0xFFFFFFFFFFFFFFFF >> 60", 15),
        ("(.u64) -1", 2**64 - 1),
        ("(.s64) 0xFFFFFFFFFFFFFFFF", -1),
        ("9223372036854775807 + 1", -(2**63)),
        ("0x1F", 31),
        ("017", 15),
        ("0b101", 5),
        ("42U", 42),
        ("WARP_SZ * 2", 64),
        ("- - 3", 3),
        ("(.s64) 2.9", 2),
        ("1.5 < 2", 1),
    ],
)
def test_integer_expressions_follow_c(expression: str, value: int) -> None:
    assert values(variable(f".global .u64 v = {expression};")) == [value]


@pytest.mark.parametrize(
    ("literal", "kind", "bits"),
    [
        ("0f3F800000", "f32", 0x3F800000),
        ("0F7fc00000", "f32", 0x7FC00000),
        ("0d3FF0000000000000", "f64", 0x3FF0000000000000),
        ("1.5", "f64", 0x3FF8000000000000),
        ("-2.0", "f64", 0xC000000000000000),
        ("1e2", "f64", 0x4059000000000000),
        ("1.", "f64", 0x3FF0000000000000),
        (".5", "f64", 0x3FE0000000000000),
        ("1.0 / 4 + 0.25", "f64", 0x3FE0000000000000),
    ],
)
def test_floating_constants_keep_their_bits(literal: str, kind: str, bits: int) -> None:
    assert variable(f".global .f64 v = {literal};").initializer == (Immediate(kind, bits),)


def test_nested_braces_are_laid_out_row_by_row() -> None:
    assert values(variable(".global .s32 v[2][3] = {{1, 2}, {3}};")) == [1, 2, 0, 3]
    assert values(variable(".global .s32 v[2][2][2] = {{{1}, {2}}, {{3, 4}}};")) == [1, 0, 2, 0, 3, 4]
    assert values(variable(".global .s32 v[4] = {-1, 2,};")) == [-1, 2]
    assert values(variable(".global .v2 .s32 v[2] = {{1, 2}, {3, 4}};")) == [1, 2, 3, 4]


def test_unsized_array_takes_its_size_from_the_initializer() -> None:
    found = variable(".global .u16 v[] = {1, 2, 3};")
    assert (found.count, found.size) == (3, 6)
    found = variable(".global .u16 v[][2] = {{1, 2}, {3}};")
    assert (found.count, found.size) == (4, 8)


def test_addresses_of_variables_and_functions_initialise() -> None:
    found = module(
        ".global .u32 a[4]; .func f; .global .u64 p[] = {a, a+8, generic(a), generic(a)+4, generic(a)-4, f, 7};"
    )
    assert found.variables["p"].initializer == (
        Symbol("a"),
        Symbol("a", 8),
        Symbol("a", 0, generic=True),
        Symbol("a", 4, generic=True),
        Symbol("a", -4, generic=True),
        Symbol("f"),
        Immediate("int", 7),
    )


def test_mask_operator_picks_bytes_of_an_address_or_number() -> None:
    found = module(
        ".global .u32 a; .global .u8 v[] = {0xFF(a), 0xFF00(generic(a)+4), 0xFF00(131187), 0xFF(1000 + 546)};"
    ).variables["v"]
    assert found.initializer == (
        Symbol("a", 0, mask=0xFF),
        Symbol("a", 4, generic=True, mask=0xFF00),
        Immediate("int", 0x00),
        Immediate("int", 0x0A),
    )


def test_image_of_a_variable_is_its_bytes_in_memory() -> None:
    found = module(
        ".global .u32 a; .global .u8 v[6] = {0xFF(a), 0xFF00(a), 7}; .global .f32 f[2] = {1.0, 0f40000000};"
    ).variables
    assert image(found["v"], lambda symbol: 0x1234) == bytes([0x34, 0x12, 7, 0, 0, 0])
    assert image(found["f"], lambda symbol: 0) == bytes.fromhex("0000803f00000040")


def test_opaque_variables_keep_their_properties() -> None:
    found = module(
        ".global .texref t; .global .samplerref v = { addr_mode_0 = wrap, filter_mode = nearest }; .tex .u32 old;"
    ).variables
    assert found["v"].attributes == ("addr_mode_0=wrap", "filter_mode=nearest")
    assert (found["t"].type, found["old"].type, found["old"].space) == ("texref", "texref", "global")


def test_files_sections_pragmas_and_aliases() -> None:
    found = module(
        '.file 1 "a b.cu"\n.file 2 "c.h", 1234567890, 42\n.pragma "used_bytes_mask", "x";\n'
        ".section .debug_info { .b32 .debug_abbrev\n.b8 1,2 $L__x: .b64 $L__x+4 }\n"
        ".section .other { .b8 1 }\n"
        ".func f() { ret; }\n.func g();\n.alias g, f;\n"
    )
    assert found.files == {1: "a b.cu", 2: "c.h"}
    assert found.pragmas == ("used_bytes_mask", "x")
    assert found.aliases == {"g": "f"}


def test_paths_are_written_as_c_strings() -> None:
    found = module(r'''.file 1 "\303\274 \"b\"\\c.cu"''' + '\n.file 2 "d.h"\n')
    assert found.files == {1: 'ü "b"\\c.cu', 2: "d.h"}


def test_function_signature_and_directives() -> None:
    found = module(
        ".visible .entry k(.param .u64 .ptr .global .align 16 a, .param .align 8 .b8 s[24])\n"
        ".reqntid 128, 2 .maxnreg 64 .minnctapersm 2 .maxclusterrank 8 .reqnctapercluster 2,1,1 .explicitcluster "
        '.blocksareclusters .pragma "nounroll"; { ret; }'
    ).functions["k"]
    assert found.kind == "entry"
    pointer, struct = found.params
    assert (pointer.pointer, pointer.pointer_space, pointer.pointer_align) == (True, "global", 16)
    assert (struct.size, struct.align, struct.count, struct.type) == (24, 8, 24, "b8")
    assert found.directives == {
        "reqntid": (128, 2),
        "maxnreg": (64,),
        "minnctapersm": (2,),
        "maxclusterrank": (8,),
        "reqnctapercluster": (2, 1, 1),
        "explicitcluster": (),
        "blocksareclusters": (),
    }
    assert found.pragmas == ("nounroll",)


def test_functions_return_take_registers_and_may_be_declared_first() -> None:
    found = module(
        ".extern .func (.param .b32 r) ext(.param .b64 a, .param .b64 b) .noreturn;\n"
        ".func (.reg .u32 %out) f(.reg .u32 %in, .param .f32 x);\n"
        ".weak .func (.reg .u32 %out) f(.reg .u32 %in, .param .f32 x) { mov.u32 %out, %in; ret; }\n"
    ).functions
    assert (found["ext"].external, found["ext"].noreturn, found["ext"].defined) == (True, True, False)
    assert found["f"].registers == {"%in": "u32", "%out": "u32"}
    assert (found["f"].defined, found["f"].linkage, found["f"].returns[0].space) == (True, "weak", "reg")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (".global .u32 v[2] = {1, 2, 3};", "3 initial values for 2 elements"),
        (".global .u32 v[2] = 1;", "stands in braces"),
        (".global .u32 v = {{1}};", "deeper"),
        (".global .u32 v[2][1] = {{1, 2}};", "row of 1"),
        (".global .u32 v = w;", "undefined name 'w'"),
        (".global .u32 vector; .global .u64 v = vectro;", "did you mean 'vector'"),
        (".global .u32 v = 1 / 0;", "division by zero"),
        (".global .u32 v = 1 << 64;", "shift by 64"),
        (".global .u32 v = 1.5 & 1;", "'&' needs integers"),
        (".global .u32 v = 0f3F800000 + 1;", "expected ';'"),
        (".global .u32 v = 1 + 0f3F800000;", "single-precision constant"),
        (".global .u32 v = 08;", "malformed number"),
        (".global .u32 v = 0f12;", "malformed number"),
        (".global .u32 v = 99999999999999999999;", "malformed number"),
        (".global .u32 v = " + "(" * 400 + "1" + ")" * 400 + ";", "nested more than"),
        (".global .u32 v = " + "-" * 4000 + "1;", "nested more than"),
        (".global .u32 v = " + "1 ? 1 : " * 4000 + "1;", "nested more than"),
        (".global .align 3 .u32 v;", "not a power of two"),
        (".global .u33 v;", "did you mean '.u32'"),
        (".global v;", "expected a type"),
        (".global .u32 .u32 v;", "second type"),
        (".global .u32 v[99999999999999];", "more than the limit"),
        (".global .b8 v[281474976710656][16];", "more than the limit"),
        (".global .u32 v; .global .u32 v;", "'v' is defined twice"),
        (".global .u32 v; .func v { ret; }", "'v' is defined twice"),
        (".func f { ret; } .func f { ret; }", "'f' is defined twice"),
        (".func f(.param .u32 a); .func f(.param .u64 a) { ret; }", "declared with another signature on line 4"),
        (".visible .extern .global .u32 v;", "second linkage"),
        (".visible .reg .u32 v;", "expected a variable or function"),
        (".globl .u32 v;", "did you mean '.global'"),
        (".version 8.5", "second .version"),
        (".address_size 16", "expected 32 or 64"),
        (".alias a, b;", "undefined function 'b'"),
        (".entry k .maxntid 1,2,3,4 { ret; }", "at most 3 values"),
        (".entry k .maxtid 1 { ret; }", "did you mean '.maxntid'"),
        (".entry k(.param .u32 a, .param .u32 a) { ret; }", "defined twice in this scope"),
        (".entry k(.global .u32 a) { ret; }", "expected .param or .reg"),
        (".entry k {", "'{' is not closed"),
        (".section .x {", "not closed"),
        ('.file 1 "abc', "string is not closed"),
        ("/* abc", "comment is not closed"),
        (".global .u32 é;", "PTX is ASCII"),
        (".global .u32 \0v;", "has no place in PTX"),
        (".global .b8 " + ",".join(f"v{i}_<4096>" for i in range(9)) + ";", "the text makes more than"),
        (".global .b8 v<4000000000>;", "outside 0 to 4096"),
        (".global .b8 v[3][99999999999] = {{1},{2}};", "the text makes more than"),
    ],
)
def test_malformed_module_gets_one_message(text: str, message: str) -> None:
    with pytest.raises(PtxError, match=message):
        module(text)


def test_an_empty_text_and_one_without_target_are_refused() -> None:
    with pytest.raises(PtxError, match="empty"):
        parse(" \n// nothing\n")
    with pytest.raises(PtxError, match=r"no \.target"):
        parse(".version 8.5")
    with pytest.raises(PtxError, match=r"expected \.version"):
        parse(".target sm_90")
    with pytest.raises(PtxError, match="unknown target 'gfx90'"):
        parse(".version 8.5 .target gfx90")
    with pytest.raises(PtxError, match=r"expected a PTX version such as 8\.5, found 'eight'"):
        parse(".version eight")


def test_error_carries_place_line_and_caret() -> None:
    with pytest.raises(PtxError) as caught:
        parse(".version 8.5\n.target sm_90\n\t.global .u33 v;\n", filename="x.ptx")
    error = caught.value
    assert (error.line, error.column, error.source_line) == (3, 10, "\t.global .u33 v;")
    assert str(error).splitlines()[0].startswith("x.ptx:3:10: '.u33' is no type")
    assert str(error).splitlines()[1:] == ["\t.global .u33 v;", "\t        ^"]


def test_a_line_of_megabytes_is_shown_around_the_caret() -> None:
    with pytest.raises(PtxError) as caught:
        module(".global .u32 v[] = {" + "1," * 500_000 + "?};")
    shown, caret = caught.value.excerpt.split("\n")
    assert len(shown) < 200
    assert shown[len(caret) - 1] == "?"
