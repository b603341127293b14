"""Several files as one module: symbols across files, what is weak, common or a file's own, and what does not fit."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import gridstride as gs

RDC = ("-rdc=true",)

KERNELS = """
extern __device__ int calls;
extern __constant__ float factor[2];
extern __device__ float scale(float, int);
static __device__ __noinline__ float helper(float x) { return x + 1; }
__global__ void k(float *x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    x[i] = scale(helper(x[i]), i) + factor[0];
    atomicAdd(&calls, 1);
}
template <int N> __global__ void times(float *x) { x[threadIdx.x] = scale(N, threadIdx.x); }
"""
FUNCTIONS = """
__device__ int calls = 5;
__constant__ float factor[2] = {2.0f, 3.0f};
static __device__ __noinline__ float helper(float x) { return x * 10; }
__device__ float scale(float x, int i) {
    __shared__ float part[64];
    part[threadIdx.x] = helper(x);
    return part[threadIdx.x] * factor[i & 1];
}
"""


def expected(x: np.ndarray) -> np.ndarray:
    return (x + 1) * 10 * np.where(np.arange(x.size) & 1, 3, 2).astype(np.float32) + 2


def test_two_files_share_functions_variables_and_constants(gpu: gs.VirtualGPU) -> None:
    module = gs.cuda([KERNELS, FUNCTIONS])
    x = np.arange(100, dtype=np.float32)
    want = expected(x)
    module["k"][2, 64](x, 100)
    assert (x == want).all()
    assert module.symbol("calls", "int32").numpy().tolist() == [105]


def test_a_template_of_one_file_calls_into_the_other(gpu: gs.VirtualGPU) -> None:
    x = np.zeros(64, np.float32)
    gs.cuda([KERNELS, FUNCTIONS])["times<4>"][1, 64](x)
    assert x.tolist() == [80.0, 120.0] * 32


def test_modules_of_cuda_and_of_ptx_are_linked(gpu: gs.VirtualGPU) -> None:
    kernels, functions = gs.cuda(KERNELS, RDC), gs.cuda(FUNCTIONS, RDC)
    for linked in (gs.link(kernels, functions), gs.link(gs.ptx(kernels.ptx), gs.ptx(functions.ptx))):
        x = np.arange(64, dtype=np.float32)
        want = expected(x)
        linked["k"][1, 64](x, 64)
        assert (x == want).all()


def test_files_are_read_and_name_their_own_lines(gpu: gs.VirtualGPU, tmp_path: Path) -> None:
    a, b = tmp_path / "a.cu", tmp_path / "b.cu"
    a.write_text("__device__ void put(int *p, int i);\n__global__ void k(int *p) {\n    put(p, threadIdx.x);\n}")
    b.write_text("// where the fault is\n__device__ __noinline__ void put(int *p, int i) {\n    p[i] = i;\n}")
    kernel = gs.cuda([a, b])["k"]
    with pytest.raises(gs.KernelFault, match="out of bounds") as fault:
        kernel[1, 64](np.zeros(33, np.int32))
    assert (fault.value.file, fault.value.line, fault.value.thread) == (str(b), 3, (33, 0, 0))
    run = kernel.observe(1, 32)(np.zeros(32, np.int32))
    assert {(line.file, line.line) for line in run.counters.lines if line.global_requests} == {(str(b), 3)}
    assert "p[i] = i;" in str(run)


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0)])
def test_the_order_of_the_files_makes_no_difference(gpu: gs.VirtualGPU, order: tuple[int, ...]) -> None:
    files = [
        "__device__ int second(int); static __device__ int own = 3;\n"
        "__global__ void k(int *o) { atomicAdd(&own, 1); o[threadIdx.x] = second(threadIdx.x) + own; }",
        "__device__ int third(int); static __device__ int own = 50;\n"
        "__device__ int second(int x) { return third(x + 1) * own; }",
        "static __device__ __noinline__ int own(int x) { return x - 7; }\n"
        "__device__ int third(int x) { return own(x); }",
    ]
    out = np.zeros(8, np.int32)
    gs.cuda([files[n] for n in order])["k"][1, 8](out)
    assert out.tolist() == [50 * (t + 1 - 7) + 3 + 8 for t in range(8)]


def test_what_is_no_module_is_refused() -> None:
    with pytest.raises(TypeError, match=r"gs\.link takes modules, not str"):
        gs.link("a.cu")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"gs\.link takes modules: gs\.link"):
        gs.link()


def test_functions_called_through_pointers_of_another_file(gpu: gs.VirtualGPU) -> None:
    kernel = gs.cuda(
        [
            "typedef int (*Step)(int);\nextern __device__ Step steps[2];\n"
            "__global__ void k(int *o) { o[threadIdx.x] = steps[threadIdx.x & 1](threadIdx.x); }",
            "typedef int (*Step)(int);\n__device__ int up(int a) { return a + 1; }\n"
            "__device__ int twice(int a) { return 2 * a; }\n__device__ Step steps[2] = {up, twice};",
        ]
    )["k"]
    out, t = np.zeros(32, np.int32), np.arange(32)
    kernel[1, 32](out)
    assert (out == np.where(t & 1, 2 * t, t + 1)).all()


HEAD = ".version 8.0\n.target sm_80\n.address_size 64\n"
ASK = (
    HEAD
    + """
.extern .func (.param .b32 r) f(.param .b32 x);
.visible .entry k(.param .u64 out)
{
    .reg .b64 %o;
    .reg .b32 %v;
    .param .b32 a, b;
    ld.param.u64 %o, [out];
    st.param.b32 [a], 3;
    call (b), f, (a);
    ld.param.b32 %v, [b];
    st.global.b32 [%o], %v;
    ret;
}
"""
)


def answer(value: int, linkage: str) -> str:
    return f"""{HEAD}{linkage} .func (.param .b32 r) f(.param .b32 x)
    {{ .reg .b32 %v; ld.param.b32 %v, [x]; add.u32 %v, %v, {value}; st.param.b32 [r], %v; ret; }}"""


def asked(*texts: str) -> int:
    out = np.zeros(1, np.int32)
    gs.link(*(gs.ptx(t, filename=f"{n}.ptx") for n, t in enumerate(texts)))["k"][1, 1](out)
    return int(out[0])


def test_a_strong_function_overrides_weak_ones_and_the_first_of_the_weak_stands(gpu: gs.VirtualGPU) -> None:
    assert asked(ASK, answer(10, ".weak"), answer(20, ".visible"), answer(30, ".weak")) == 23
    assert asked(ASK, answer(10, ".weak"), answer(30, ".weak")) == 13


def test_an_alias_stands_for_its_function_in_other_files(gpu: gs.VirtualGPU) -> None:
    alias = answer(40, ".visible").replace(" f(", " other(")
    alias += "\n.visible .func (.param .b32 r) f(.param .b32 x);\n.alias f, other;"
    assert asked(ASK, alias) == 43


def test_an_alias_of_a_function_that_waits_waits(gpu: gs.VirtualGPU) -> None:
    text = (
        HEAD
        + """
.visible .func (.param .b32 r) meet(.param .b32 x)
{
    .reg .b32 %v;
    barrier.sync 0;
    ld.param.b32 %v, [x];
    st.param.b32 [r], %v;
    ret;
}
.visible .func (.param .b32 r) same(.param .b32 x);
.alias same, meet;
.visible .entry k(.param .u64 out)
{
    .reg .pred %p;
    .reg .b64 %o, %a;
    .reg .b32 %t, %v;
    .param .b32 a, b;
    ld.param.u64 %o, [out];
    mov.u32 %t, %tid.x;
    mad.wide.u32 %a, %t, 4, %o;
    st.param.b32 [a], %t;
    setp.lt.u32 %p, %t, 9;
    @%p bra FEW;
    call (b), same, (a);
    bra DONE;
FEW:
    call (b), meet, (a);
DONE:
    ld.param.b32 %v, [b];
    st.global.b32 [%a], %v;
    ret;
}"""
    )
    out = np.full(64, -1, np.int32)
    gs.ptx(text)["k"][1, 64](out)
    assert (out == np.arange(64)).all()


def test_a_common_variable_is_one_and_the_largest(gpu: gs.VirtualGPU) -> None:
    small = HEAD + ".common .global .align 4 .b32 pool[2];"
    large = (
        HEAD
        + """.common .global .align 4 .b32 pool[8];
    .visible .entry k(.param .u64 out)
    { .reg .b32 %v; mov.u32 %v, 6; st.global.b32 [pool+28], %v; ret; }"""
    )
    module = gs.link(gs.ptx(small), gs.ptx(large))
    module["k"][1, 1](None)
    assert module.symbol("pool", "int32").numpy().tolist() == [0] * 7 + [6]


def test_dynamic_shared_memory_is_declared_by_every_file(gpu: gs.VirtualGPU) -> None:
    kernel = gs.cuda(
        [
            "extern __shared__ int room[]; __device__ int back(int);\n__global__ void k(int *o) {"
            "room[threadIdx.x] = threadIdx.x; __syncthreads(); o[threadIdx.x] = back(threadIdx.x); }",
            "extern __shared__ int room[]; __device__ int back(int i) { return room[blockDim.x - 1 - i]; }",
        ]
    )["k"]
    out = np.zeros(64, np.int32)
    kernel[1, 64, 256](out)
    assert (out == np.arange(64)[::-1]).all()


@pytest.mark.parametrize(
    ("sources", "message"),
    [
        ([KERNELS, "__device__ int calls;"], r"`scale` is used in kernel_1.cu:9 and is defined in none of the files"),
        ([KERNELS, FUNCTIONS, "__device__ int calls;"], r"`calls` is defined in kernel_2.cu and kernel_3.cu"),
        ([KERNELS, FUNCTIONS, KERNELS], r"`k` is defined in kernel_1.cu and kernel_3.cu"),
        (
            [KERNELS, FUNCTIONS.replace("int calls", "long long calls")],
            r"`calls` has 8 bytes in one file and 4 in the other",
        ),
        (
            [KERNELS, FUNCTIONS.replace("float x, int i", "float x, long long i")],
            r"`scale` is used .* \(kernel_2.cu has a `scale` with other parameters\)",
        ),
        (
            ['extern "C" __device__ int f(int); __global__ void k(int *p) { *p = f(1); }',
             'extern "C" __device__ int f(double x) { return x; }'],
            r"`f` takes or returns something else in the two files: kernel_2.cu and kernel_1.cu",
        ),
        (
            ["extern __device__ int v[2]; __global__ void k(int *p) { *p = v[1]; }", "__constant__ int v[2];"],
            r"`v` is .const in one file and .global in the other",
        ),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_one_message_with_names_and_files(gpu: gs.VirtualGPU, sources: list, message: str) -> None:
    with pytest.raises(gs.LinkError, match=message):
        gs.cuda(sources)


def test_a_single_file_says_what_it_lacks_when_a_kernel_is_asked_for(gpu: gs.VirtualGPU) -> None:
    module = gs.cuda(KERNELS, RDC, filename="alone.cu")
    with pytest.raises(gs.LinkError, match=r"linking alone.cu: `scale` is used in alone.cu:9 and has no .*gs.link"):
        module["k"]


def test_what_is_declared_and_not_used_need_not_be_there(gpu: gs.VirtualGPU) -> None:
    out = np.zeros(1, np.int32)
    unused, body = ".extern .func g(.param .b32 x);\n.extern .global .b32 v;\n", ASK.partition("(.param .b32 x);")[2]
    gs.ptx(answer(1, ".visible") + unused + body)["k"][1, 1](out)
    assert out[0] == 4


@pytest.mark.parametrize("version", ["98.0", "10.0"])
def test_a_version_of_ptx_that_nobody_knows_is_refused(gpu: gs.VirtualGPU, version: str) -> None:
    with pytest.raises(gs.PtxError, match=f"PTX {version} is no version that this knows"):
        gs.ptx(ASK.replace("8.0", version, 1))
