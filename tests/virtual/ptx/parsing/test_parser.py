"""What NVRTC really writes: names, calls, locations, and the time it takes to parse."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from gridstride.compiler import compile_cuda
from gridstride.virtual.ptx import parse
from gridstride.virtual.ptx.flow import cfg, liveness
from gridstride.virtual.ptx.module import Arguments, Instruction, LabelRef, PtxModule, Register, Symbol
from gridstride.virtual.ptx.parsing.initializers import image


@pytest.fixture(scope="module")
def module(nvrtc_text: str) -> PtxModule:
    return parse(nvrtc_text)


def test_kernel_parameters_and_launch_bounds(module: PtxModule) -> None:
    (kernel,) = module.entries
    assert [(p.type, p.size, p.align) for p in kernel.params] == [
        *(("u64", 8, 8), ("u64", 8, 8), ("u32", 4, 4), ("b8", 24, 4)),
    ]
    assert kernel.directives["maxntid"] == (256, 1, 1)
    assert kernel.directives["minnctapersm"] == (2,)


def test_shared_memory_static_and_dynamic(module: PtxModule) -> None:
    (kernel,) = module.entries
    (tile,) = [v for v in kernel.variables.values() if v.space == "shared"]
    (dynamic,) = [v for v in module.variables.values() if v.space == "shared"]
    assert (tile.size, dynamic.size, dynamic.align, dynamic.external) == (1024, 0, 16, True)


def test_initial_values_are_those_of_the_source(module: PtxModule) -> None:
    table, into = module.variables["table"], module.variables["into"]
    numbers = image(table, lambda symbol: 0)
    assert [int.from_bytes(numbers[i : i + 4], "little") for i in range(0, 24, 4)] == [1, 2, 3, 4, 0, 0]
    assert into.initializer == (Symbol("table", 12, generic=True),)
    choices = module.variables["choices"].initializer
    assert choices is not None
    assert [module.functions[c.name].kind for c in choices if isinstance(c, Symbol)] == ["func", "func"]


def test_every_name_that_an_instruction_uses_is_declared(module: PtxModule) -> None:
    known = {*module.variables, *module.functions}
    for function in module.functions.values():
        local = known | {*function.variables} | {v.name for v in (*function.params, *function.returns)}
        for operand in (o for line in function.instructions for o in line.operands):
            base = getattr(operand, "base", operand)
            if isinstance(base, Register):
                assert base.name in function.registers
            if isinstance(base, Symbol):
                assert base.name in local


def test_direct_and_indirect_calls(module: PtxModule) -> None:
    (kernel,) = module.entries
    calls = [line.operands for line in kernel.instructions if line.opcode == "call"]
    indirect = [operands for operands in calls if isinstance(operands[1], Register)]
    assert len(indirect) == 1
    returned, _, passed, prototype = indirect[0]
    assert isinstance(returned, Arguments)
    assert isinstance(passed, Arguments)
    assert isinstance(prototype, LabelRef)
    assert (len(returned.items), len(passed.items)) == (1, 2)
    assert [v.size for v in kernel.prototypes[prototype.name].params] == [4, 4]


def test_inlined_code_knows_its_call_sites(module: PtxModule, cuda_line: Callable[[str], int]) -> None:
    (kernel,) = module.entries
    (load,) = [line for line in kernel.instructions if line.name == "ld.const.f32"]
    assert load.loc is not None
    lines = [at.line for at in load.loc.chain]
    assert lines == [cuda_line("return x * x"), cuda_line("return inner(x)"), cuda_line("float v = outer")]
    assert module.files[load.loc.file].endswith("kernel.cu")
    assert load.loc.function is not None
    assert "inner" in load.loc.function


def test_ptx_lines_are_those_of_the_text(nvrtc_text: str, module: PtxModule) -> None:
    lines = nvrtc_text.split("\n")
    for line in module.entries[0].instructions:
        assert line.name in lines[line.ptx_line - 1]


@pytest.mark.parametrize("arch", ["sm_75", "sm_80", "sm_89", "sm_90", "sm_100", "sm_120"])
def test_texts_for_every_architecture_parse(arch: str) -> None:
    source = 'extern "C" __global__ void k(float* x) { atomicAdd(x, __shfl_xor_sync(-1u, x[threadIdx.x], 1)); }'
    module = parse(compile_cuda(source, arch=arch).ptx)
    assert module.target == arch
    assert any(line.opcode == "shfl" for line in module.entries[0].instructions)


def test_debug_text_parses() -> None:
    source = 'extern "C" __global__ void k(float* x) { for (int i = 0; i < 9; i++) x[i] += i; }'
    module = parse(compile_cuda(source, options=["-G"]).ptx)
    assert "debug" in module.target_options
    assert module.entries[0].instructions


def test_two_hundred_lines_take_under_ten_milliseconds(text: Callable[..., str]) -> None:
    pair = "fma.rn.f32 %f{0}, %f1, %f{0}, 0f3F800000;\n@%p1 ld.global.f32 %f1, [%rd1+{0}];\n"
    kernel = text("".join(pair.format(i % 40) for i in range(100)))
    taken = []
    for _ in range(20):
        start = time.process_time()
        parse(kernel)
        taken.append(time.process_time() - start)
    assert min(taken) < 0.010


def test_graph_and_liveness_of_a_real_kernel(module: PtxModule) -> None:
    (kernel,) = module.entries
    graph = cfg.build(kernel)
    live = liveness.analyse(graph)
    assert sum(len(block.instructions) for block in graph.blocks) == len(kernel.instructions)
    assert live.live_in[0] == 0, "a register is read before anything writes it"
    assert all(isinstance(block.terminator, Instruction | None) for block in graph.blocks)
