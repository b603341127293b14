"""What an exported package tells autograd: of results without a gradient, of tensors that are written in place.

The Python part of a package runs here on tensors without memory, over ops that are defined without their kernels.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gridstride.export import cpp_source, python_source
from gridstride.export.package import Package, package, texts
from gridstride.judge.find import find

torch = pytest.importorskip("torch")


def _load(name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Any, library: Any) -> tuple[Package, dict[str, Any]]:
    """The names in a package's `__init__`, whose library is not there."""
    folder = find(name)
    made = package(folder, folder.rungs()[-1], f"own_{name}")
    for op in made.ops:
        library.define(cpp_source.schema(op))
    monkeypatch.setattr(torch.ops, "load_library", lambda _: None)
    (tmp_path / "_C.so").touch()
    (tmp_path / "__init__.py").write_bytes(dict(texts(made))[f"{made.name}/__init__.py"])
    names = {"__name__": made.name, "__file__": str(tmp_path / "__init__.py")}
    exec(compile((tmp_path / "__init__.py").read_text(), str(tmp_path / "__init__.py"), "exec"), names)
    names["_ready"] = lambda op, name, tensor, written=False: tensor  # which refuses what is on no GPU
    return made, names


@pytest.fixture
def load(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> Any:
    libraries = []

    def loaded(name: str) -> dict[str, Any]:
        libraries.append(torch.library.Library(f"own_{name}", "FRAGMENT"))
        return _load(name, monkeypatch, tmp_path, libraries[-1])[1]

    yield loaded
    for each in libraries:
        each._destroy()


def test_a_gradient_that_the_op_does_not_have_is_an_error_and_no_none(load: Any) -> None:
    add = load("vector_add")["vector_add"]
    a = torch.empty(4, device="meta", requires_grad=True)
    made = add(a, torch.empty(4, device="meta"))
    with pytest.raises(RuntimeError, match=r"vector_add has no gradient: detach its inputs, or .* torch.no_grad\(\)"):
        made.sum().backward()
    with torch.no_grad():
        assert not add(a, a).requires_grad


def test_a_gradient_goes_once_through_and_a_second_one_is_refused(load: Any) -> None:
    gelu = load("gelu")["gelu"]
    x = torch.empty(2, 3, device="meta", requires_grad=True)
    (slope,) = torch.autograd.grad(gelu(x).sum(), x, create_graph=True)
    assert slope.shape == x.shape
    with pytest.raises(RuntimeError, match="gelu_backward has no gradient"):
        slope.sum().backward()


def test_what_is_written_in_place_counts_a_version_and_takes_no_part_in_a_graph(load: Any) -> None:
    step = load("adamw")["adamw"]
    p, m, v, g = (torch.empty(4, device="meta") for _ in range(4))
    step(p, m, v, g, *range(1, 8))
    assert [each._version for each in (p, m, v, g)] == [1, 1, 1, 0]
    g.requires_grad_()
    with pytest.raises(RuntimeError, match=r"adamw: g requires a gradient, and the op has none: .* torch.no_grad\(\)"):
        step(p, m, v, g, *range(1, 8))
    with torch.no_grad():
        step(p, m, v, g, *range(1, 8))


def test_an_input_that_the_backward_op_gives_none_for_is_named() -> None:
    folder, behind = find("swiglu"), find("swiglu_backward")
    forward = package(folder, folder.rungs()[-1]).ops[0]
    backward = package(behind, behind.rungs()[-1]).ops[0]
    whole = python_source.gradient(forward, backward)
    assert whole is not None
    assert whole.missing == ()
    dropped = next(iter(whole.of))
    kept = tuple(each for each in backward.problem.parameters if each.name != dropped)
    part = python_source.gradient(forward, replace(backward, problem=replace(backward.problem, parameters=kept)))
    assert part is not None
    assert [name for _, name in part.missing] == [whole.of[dropped]]
    assert [each.name for each in forward.given][part.missing[0][0]] == whole.of[dropped]
