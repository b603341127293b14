"""The folder of an exported kernel: its files, its gradient, and what keeps it from being written."""

from __future__ import annotations

import ast
import io
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gridstride.export.export_errors import ExportError
from gridstride.export.operator_signature import NUMERIC
from gridstride.export.package import Package, package, texts, write
from gridstride.judge.find import find, problem_names
from gridstride.judge.header import parse_kernel

OWN = """// grid: ceil(n/128)
// block: 128
__global__ void mine(const float* x, float* y, long long n) {
    long long i = blockIdx.x * 128ll + threadIdx.x;
    if (i < n) y[i] = 0.5f * x[i] * (1 + tanhf(0.7978845608f * (x[i] + 0.044715f * x[i] * x[i] * x[i])));
}
"""


@pytest.fixture(scope="module")
def softmax() -> Package:
    folder = find("softmax")
    return package(folder, folder.rungs()[-1])


@pytest.fixture(scope="module")
def files(softmax: Package) -> dict[str, bytes]:
    return dict(texts(softmax))


def test_an_op_comes_with_its_gradient(softmax: Package) -> None:
    assert [op.name for op in softmax.ops] == ["softmax", "softmax_backward"]
    (gradient,) = softmax.gradients
    assert (gradient.name, gradient.backward, gradient.of) == ("softmax", "softmax_backward", {"dx": "x"})
    assert softmax.needs == (9, 0)


def test_the_kernel_is_in_it_as_it_was_judged(files: dict[str, bytes]) -> None:
    assert files["csrc/softmax.cuh"].decode() == find("softmax").rungs()[-1].source
    source = files["csrc/softmax.cu"].decode()
    for dtype in ("float", "__half", "__nv_bfloat16"):
        assert f"#define ELEMENT {dtype}\n" in source
    assert 'library.def("softmax(Tensor x) -> Tensor")' in source
    assert 'dim3 grid(as_int(op, "grid", (8 * std::min<int64_t>(rows, (3 * SMS)))));' in source


def test_the_python_part_is_python(files: dict[str, bytes]) -> None:
    for path in ("softmax_op/__init__.py", "setup.py", "tests/test_ops.py"):
        ast.parse(files[path])
    assert "def softmax(x: Tensor) -> Tensor:" in files["softmax_op/__init__.py"].decode()
    assert "register_autograd" in files["softmax_op/__init__.py"].decode()
    assert "9.0a" in files["setup.py"].decode()


def test_recorded_answers_are_float64_with_what_a_result_may_be_off(files: dict[str, bytes]) -> None:
    cases = np.load(io.BytesIO(files["tests/cases.npz"]))
    x, y, bound = (cases[f"softmax/0/{each}"] for each in ("in/x", "out/y", "bound/y"))
    assert (x.dtype, y.dtype) == (np.float32, np.float64)
    expected = np.exp(x.astype(np.float64) - x.max(1, keepdims=True))
    np.testing.assert_allclose(y, expected / expected.sum(1, keepdims=True), rtol=1e-12)
    assert 0 < bound.max() < 1e-4


def test_a_users_own_kernel_stands_alone_where_names_do_not_fit() -> None:
    folder = find("gelu")
    made = package(folder, parse_kernel(OWN, filename="mine.cu"), "mine")
    assert made.ops[0].elements == ("float32",)
    assert made.ops[0].entry == "mine"
    source = dict(texts(made))["csrc/gelu.cu"].decode()
    assert "ELEMENT" not in source
    assert [each.backward for each in made.gradients] == ["gelu_backward"]  # whose last rung it takes


def test_sizes_that_are_rounded_up_have_their_function() -> None:
    folder = find("aos_to_soa")
    init = dict(texts(package(folder, folder.rungs()[-1])))["aos_to_soa_op/__init__.py"].decode()
    assert "ceil_div" not in init
    ast.parse(init)


def test_a_folder_appears_whole_and_only_where_nothing_is(softmax: Package, tmp_path: Path) -> None:
    written = write(softmax, tmp_path / "deep" / "softmax_op")
    assert written == sorted(str(p.relative_to(tmp_path / "deep" / "softmax_op"))
                             for p in (tmp_path / "deep").rglob("*") if p.is_file())  # fmt: skip
    with pytest.raises(ExportError, match="softmax_op is there already: choose another folder with --in"):
        write(softmax, tmp_path / "deep" / "softmax_op")
    (tmp_path / "file").write_text("")
    with pytest.raises(ExportError, match="softmax_op cannot be written: "):
        write(softmax, tmp_path / "file" / "softmax_op")
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["softmax_op"]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"source": '#include "mine.cuh"\n' + OWN}, 'includes "mine.cuh": what is exported is one file'),
        ({"source": OWN.replace("tanhf", "tanhg")}, "cannot be run: "),
        ({"filename": "mine.py"}, "is Python: kernels in CUDA C"),
    ],
    ids=["include", "compile", "python"],
)
def test_what_cannot_be_exported_is_refused(changed: dict[str, Any], message: str) -> None:
    kernel = replace(parse_kernel(OWN, filename="mine.cu"), **changed)
    with pytest.raises(ExportError, match=message):
        package(find("gelu"), kernel)


@pytest.mark.parametrize("name", ["Mine", "my-op", "1st", ""])
def test_a_package_has_a_name_that_python_can_import(name: str) -> None:
    folder = find("gelu")
    if not name:
        assert package(folder, folder.rungs()[0], None).name == "gelu_op"
        return
    with pytest.raises(ExportError, match="is no name for a package"):
        package(folder, folder.rungs()[0], name)


def test_pytorch_has_every_type_that_problems_have() -> None:
    """What the next test needs of a new ladder, which is slow."""
    assert {p.dtype for name in problem_names() for p in find(name).problem.parameters if p.shape} <= set(NUMERIC)


@pytest.mark.slow
@pytest.mark.parametrize("problem", problem_names())
def test_every_ladders_last_rung_can_be_exported(problem: str) -> None:
    folder = find(problem)
    made = dict(texts(package(folder, folder.rungs()[-1])))
    ast.parse(made[f"{problem}_op/__init__.py"])
    assert f"TORCH_BOX(&{problem})" in made[f"csrc/{problem}.cu"].decode()
    cases = np.load(io.BytesIO(made["tests/cases.npz"]))
    assert any(key.startswith(f"{problem}/0/in/") for key in cases.files)


@pytest.mark.parametrize("name", ["class", "torch", "numpy", "gridstride", "tests", "csrc", "json", "aten"])
def test_a_name_that_cannot_be_imported_or_hides_another(name: str) -> None:
    folder = find("vector_add")
    with pytest.raises(ExportError, match=f"'{name}' is no name for a package: .*; choose another with --name"):
        package(folder, folder.rungs()[-1], name)
