"""What a problem's parameters become in an op."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gridstride.export.export_errors import ExportError
from gridstride.export.operator_signature import OperatorSignature, SizeSource, signature, word
from gridstride.judge.find import find


def of(name: str) -> OperatorSignature:
    folder = find(name)
    return signature(folder.problem, folder.rungs()[-1])


@pytest.mark.parametrize(
    ("problem", "sizes"),
    [
        ("gelu", [SizeSource("n", "x", 1, leading=True)]),
        ("softmax", [SizeSource("rows", "x", 2, leading=True), SizeSource("columns", "x", 1)]),
        ("skinny_gemm", [SizeSource("M", "x", 2, leading=True), SizeSource("steps", "x", 1, scale=32),
                         SizeSource("N", "weight", 2, leading=True)]),
        ("turn_blur", [SizeSource("H", "image", 2, leading=True), SizeSource("W", "image", 1),
                       SizeSource("R", "weights", 1, scale=2, offset=1)]),
        ("rms_norm_backward", [SizeSource("rows", "x", 2, leading=True), SizeSource("columns", "x", 1),
                               SizeSource("parts")]),
    ],
)  # fmt: skip
def test_sizes_come_from_the_tensors_that_are_given(problem: str, sizes: list[SizeSource]) -> None:
    assert list(of(problem).sizes) == sizes


def test_a_size_that_no_tensor_tells_is_a_number_of_the_op() -> None:
    assert of("rms_norm_backward").numbers == (("parts", "int32"), ("eps", "float32"))
    assert of("softmax").numbers == ()


def test_tensors_are_given_made_or_both() -> None:
    adamw, cross_entropy = of("adamw"), of("cross_entropy")
    assert [each.name for each in adamw.given if each.written] == ["p", "m", "v"]
    assert adamw.made == ()
    assert [each.name for each in cross_entropy.made] == ["loss", "lse"]


def test_scratch_memory_is_neither() -> None:
    sort = of("radix_sort")
    assert ([each.name for each in sort.given], [each.name for each in sort.made]) == (["keys"], ["ordered"])
    assert [each.name for each in sort.arrays] == ["keys", "ordered", "scratch"]


def test_what_is_made_is_like_a_tensor_of_its_shape_and_dtype() -> None:
    op = of("cross_entropy_backward")
    like = op.like(op.made[0])
    assert like is not None
    assert like.name == "logits"
    grey = of("grayscale")
    assert grey.like(grey.made[0]) is None


def test_words_of_python_get_another_name() -> None:
    assert word("in") == "in_"
    assert word("out") == "out"


def test_a_kernel_without_a_launch_is_refused() -> None:
    folder = find("gelu")
    kernel = replace(folder.rungs()[0], launch=None)
    with pytest.raises(ExportError, match="says no `// entry:` and `// grid:`"):
        signature(folder.problem, kernel)
