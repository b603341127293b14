"""Kernels by name: plain, overloaded, templates, variables; and what an unknown name is told."""

from __future__ import annotations

import numpy as np
import pytest

import gridstride as gs
from gridstride import compiler
from gridstride.compiler import compile_cuda
from gridstride.device.launch.entries import entry_parameters
from gridstride.protocol import ParameterLayout

SOURCE = """
__constant__ float filter[4];
__global__ void saxpy(int n, float a, const float* x, float* y) {}
extern "C" __global__ void plain(int* p) {}
namespace ns { __global__ void inner(int* p) {} }
namespace { __global__ void hidden(int* p) { *p = 1; } }
template <typename T, int N> __global__ void tile(const T* in, T* out, T scale) { *out = *in * scale * T(N); }
template <typename T = double> __global__ void defaulted(T* p) {}
__global__ void twice(int) {}
__global__ void twice(float) {}
"""


@pytest.fixture
def module(fake):
    return gs.cuda(SOURCE, filename="shop.cu")


@pytest.mark.parametrize("name", ["saxpy", "plain", "ns::inner", "hidden", "_Z5saxpyifPKfPf"])
def test_plain_kernels_are_found_by_source_or_ptx_name(module, name):
    assert module[name] is module[name]


def test_templates_are_compiled_on_demand(fake, module):
    x, y = np.ones(2, np.int16), np.ones(2, np.int16)
    module["tile<short, 16>"][1, 1](x, y, 3)
    module["tile<double,2>"][1, 1](None, None, 2.5)
    module["defaulted<>"][1, 1](np.ones(1))
    assert [each.name[:7] for each in fake.launches] == ["_Z4tile", "_Z4tile", "_Z9defa"]


def test_instances_asked_for_in_a_list_are_compiled_in_one_run(fake, module, monkeypatch):
    asked = []
    monkeypatch.setattr(compiler, "compile_cuda", lambda *a, **k: asked.append(k["names"]) or compile_cuda(*a, **k))
    names = ["tile<short, 16>", "saxpy", "tile<double, 2>", "tile<short, 16>"]
    kernels = module[names]
    assert [kernel.name for kernel in kernels] == names
    assert asked == [("tile<short, 16>", "tile<double, 2>")]
    kernels[2][1, 1](None, None, 2.5)
    kernels[3][1, 1](np.ones(2, np.int16), np.ones(2, np.int16), 3)
    assert [each.name[:8] for each in fake.launches] == ["_Z4tileI", "_Z4tileI"]
    assert module["tile<double, 2>"] is kernels[2]


def test_a_list_with_a_name_that_is_no_kernel_says_which(module):
    with pytest.raises(gs.UnknownName, match="has no kernel 'tiles<8>'"):
        module[["tile<short, 16>", "tiles<8>"]]


def test_template_parameters_are_checked_by_their_arguments(module):
    with pytest.raises(gs.LaunchError, match=r"tile<float, 16>: in is const float\*, an array of float64"):
        module["tile<float, 16>"][1, 1](np.ones(2), None, 1.0)
    with pytest.raises(gs.LaunchError, match=r"tile<int, 16>: scale is int, 1.5 is a float"):
        module["tile<int, 16>"][1, 1](None, None, 1.5)
    with pytest.raises(
        gs.LaunchError, match=r"tile<unsigned char, 1>: scale = -1 does not fit unsigned char, which holds 0 to 255"
    ):
        module["tile<unsigned char, 1>"][1, 1](None, None, -1)


UNKNOWN = [
    ("saxpi", "did you mean 'saxpy'? It has: saxpy, plain"),
    ("tile", 'is a template over <typename T, int N>: name its arguments, as in module["tile<float, 16>"]'),
    ("tilt<float, 16>", "did you mean 'tile<typename T, int N>'?"),
    ("saxpy<float>", 'saxpy in shop.cu is no template: ask for module["saxpy"]'),
    ("twice", "'twice' has several overloads in shop.cu: ask by their PTX names, _Z5twicef, _Z5twicei"),
    ("zzz", "shop.cu has no kernel 'zzz'. It has: saxpy"),
    ("", "shop.cu has no kernel ''"),
]


@pytest.mark.parametrize(("name", "message"), UNKNOWN, ids=[name or "empty" for name, _ in UNKNOWN])
def test_an_unknown_name_is_told_what_there_is(module, name, message):
    with pytest.raises(gs.UnknownName) as unknown:
        module[name]
    assert message in str(unknown.value)


def test_a_name_that_is_no_string_is_refused(module):
    with pytest.raises(TypeError, match="a kernel name must be a str, not int"):
        module[0]


def test_a_wrong_template_argument_is_a_compile_error(module):
    with pytest.raises(gs.CompileError):
        module["tile<nonsense, 16>"]


def test_a_compile_error_has_file_line_and_column(fake):
    with pytest.raises(gs.CompileError) as failed:
        gs.cuda("__global__ void k() {\n  undefined;\n}", filename="bad.cu")
    assert (failed.value.file, failed.value.line, failed.value.column) == ("bad.cu", 2, 3)


def test_kernels_lists_plain_ones_and_templates(module):
    assert {"saxpy", "plain", "ns::inner", "tile<typename T, int N>"} <= set(module.kernels)
    assert "shop.cu" in repr(module)


def test_a_kernel_shows_its_signature(module):
    assert repr(module["saxpy"]) == "<kernel saxpy(int n, float a, const float* x, float* y)>"


def test_one_module_runs_on_every_device_in_use(fake, second_fake, module):
    kernel = module["plain"]
    with gs.use(second_fake):
        kernel[1, 1](None)
    kernel[1, 1](None)
    assert len(second_fake.launches) == len(fake.launches) == 1


def test_a_source_can_be_a_path(fake, tmp_path):
    path = tmp_path / "fromfile.cu"
    path.write_text("__global__ void from_file() {}")
    assert gs.cuda(path).kernels == ("from_file",)


def test_a_file_may_open_with_a_byte_order_mark(fake, tmp_path):
    path = tmp_path / "marked.cu"
    path.write_text("__global__ void marked() {}", encoding="utf-8-sig")
    assert gs.cuda(path).kernels == ("marked",)


def test_one_string_of_options_is_refused_in_words(fake):
    with pytest.raises(
        ValueError, match=r"options must be a sequence of strings, not one string: options=\('-DWITH',\)"
    ):
        gs.cuda("__global__ void f() {}", options="-DWITH")


@pytest.mark.parametrize("source", [None, b"__global__ void f() {}", 3])
def test_a_source_that_is_no_text_is_refused(fake, source):
    with pytest.raises(TypeError, match=r"CUDA C\+\+ must be a str, a Path or a list of them, not \w+"):
        gs.cuda(source)


def test_ptx_that_is_no_text_is_refused(fake):
    with pytest.raises(TypeError, match="PTX must be a str or a Path, not bytes"):
        gs.ptx(b".version 8.0")


def test_options_reach_the_compiler(fake):
    module = gs.cuda("#ifdef WITH\n__global__ void with_option() {}\n#endif", options=("-DWITH",))
    assert module.kernels == ("with_option",)


def test_a_variable_is_an_array_of_the_device(fake, module):
    fake.symbols["filter"] = (512, 16)
    symbol = module.symbol("filter", np.float32)
    symbol.copy_from(np.arange(4, dtype=np.float32))
    np.testing.assert_array_equal(fake.array(512, 4), [0, 1, 2, 3])
    del symbol  # the module's memory is not the array's to free
    with pytest.raises(gs.UnknownName, match="no __device__ or __constant__ variable 'fitler'"):
        module.symbol("fitler")


def test_names_that_are_not_there_are_refused_with_a_list():
    with pytest.raises(AttributeError, match=r"gridstride has no 'opencl'; it has device, .*cuda"):
        gs.opencl  # noqa: B018


# Layout of parameters


def test_parameters_lie_at_their_own_alignment():
    ptx = """
    .entry k ( .param .u8 a, .param .align 16 .b8 b[24], // .param .u64 not_me
               .param .f64 c, .param .u64 .ptr .shared .align 1 d, .param .b16 e )
    """
    assert entry_parameters(ptx) == {
        "k": (
            ParameterLayout(0, 1, 1, "u8"),
            ParameterLayout(16, 24, 16, "b8[24]"),
            ParameterLayout(40, 8, 8, "f64"),
            ParameterLayout(48, 8, 8, "u64", pointer=True),
            ParameterLayout(56, 2, 2, "b16"),
        )
    }
