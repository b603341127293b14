"""The folder of an exported kernel: C++ and Python, a build, a test with recorded answers."""

from __future__ import annotations

import functools
import io
import keyword
import os
import re
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from gridstride.export import cpp_source, python_source
from gridstride.export.export_errors import ExportError
from gridstride.export.judged_kernel import backward_of, compiled, headers
from gridstride.export.operator_signature import NUMERIC, OperatorSignature, word
from gridstride.export.wrapped import sentence, table
from gridstride.judge.find import Folder
from gridstride.judge.header import KernelFile
from gridstride.judge.problem import Case, Problem
from gridstride.judge.reference.prepared_cases import prepare

_TEMPLATES = Path(__file__).parent / "templates"
_MOST_ELEMENTS = 1 << 16  # of a case that is recorded
_SEED = 20
_NAME = re.compile(r"[a-z][a-z0-9_]*")
_BESIDE = ("csrc", "tests", "setup", "build", "dist")
_KNOWN = frozenset(
    "torch numpy gridstride triton jax cuda cupy numba scipy pandas sklearn tensorflow transformers torchvision "
    "torchaudio pip setuptools wheel pytest pkg_resources packaging yaml requests aten prims prim quantized inductor "
    "profiler c10d".split()
)
"""Packages that code beside an op imports, and namespaces of PyTorch's own ops: the package's name is its ops', too."""
_ARCHITECTURE = "9.0a"
"""For kernels that need 9.0: their instructions are Hopper's own."""


@dataclass(frozen=True, slots=True)
class Package:
    """What is exported together: an op, and its gradient's where there is one."""

    name: str
    ops: tuple[OperatorSignature, ...]
    gradients: tuple[python_source.GradientSource, ...]

    @property
    def namespace(self) -> str:
        """Of the ops in PyTorch."""
        return self.name

    @property
    def needs(self) -> tuple[int, int] | None:
        """The least compute capability that has all instructions."""
        return max((op.kernel.needs for op in self.ops if op.kernel.needs), default=None)


def package(folder: Folder, kernel: KernelFile, name: str | None = None) -> Package:
    """An op of the kernel, with its problem's gradient by that ladder's last rung where names fit; ExportError."""
    chosen = name or f"{folder.problem.name}_op"
    if not _NAME.fullmatch(chosen):
        raise ExportError(f"{chosen!r} is no name for a package: use lower-case letters, digits and _, a letter first")
    if reason := _taken(chosen):
        raise ExportError(f"{chosen!r} is no name for a package: {reason}; choose another with --name")
    op = compiled(folder.problem, kernel)
    backward_folder = backward_of(folder)
    if backward_folder is None or not backward_folder.rungs():
        return Package(chosen, (op,), ())
    backward = compiled(backward_folder.problem, backward_folder.rungs()[-1])
    gradient = python_source.gradient(op, backward)
    return Package(chosen, (op, backward), (gradient,)) if gradient else Package(chosen, (op,), ())


def _taken(name: str) -> str:
    """Why a package of this name could not be imported, or would stand in another one's place; empty where neither."""
    if keyword.iskeyword(name):
        return "it is a word of Python's"
    if name in sys.stdlib_module_names:
        return "Python has a module of that name"
    if name in _BESIDE:
        return "the folder has another one of that name"
    return "a package that it would hide has that name" if name in _KNOWN else ""


def write(what: Package, target: Path) -> list[str]:
    """The files that are written below `target`, which must not be there; all of them appear, or nothing does."""
    if target.exists():
        raise ExportError(f"{target} is there already: choose another folder with --in")
    files = dict(texts(what))
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{target.name}-", dir=target.parent) as room:
            package_folder = Path(room) / "whole"
            for name, data in files.items():
                path = package_folder / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(data)
            os.rename(package_folder, target)
    except OSError as error:
        raise ExportError(f"{target} cannot be written: {error.strerror}") from error
    return sorted(files)


def texts(what: Package) -> Iterator[tuple[str, bytes]]:
    """Path within the folder and contents of each file."""
    values = _values(what)
    for template, path in (
        ("__init__.py.j2", f"{what.name}/__init__.py"), ("setup.py.j2", "setup.py"),
        ("pyproject.toml.j2", "pyproject.toml"), ("README.md.j2", "README.md"), ("test_ops.py.j2", "tests/test_ops.py"),
    ):  # fmt: skip
        yield path, _environment().get_template(template).render(values).encode()
    yield "LICENSE", (_TEMPLATES / "LICENSE").read_bytes()
    yield "csrc/launch.h", (_TEMPLATES / "launch.h").read_bytes()
    for op, filled in zip(what.ops, values["ops"], strict=True):
        yield f"csrc/{op.name}.cu", _environment().get_template("op.cu.j2").render(values, op=filled).encode()
        yield f"csrc/{_file(op)}", op.kernel.source.encode()
    yield "tests/cases.npz", _cases(what.ops)


def _file(op: OperatorSignature) -> str:
    return f"{op.name}.cuh"


def _values(what: Package) -> dict[str, Any]:
    """What the templates are filled with."""
    return {
        "package": what.name,
        "namespace": what.namespace,
        "ops": [_op_values(op) for op in what.ops],
        "gradients": what.gradients,
        "without_gradient": _without_gradient(what),
        "without_gradient_list": table(_without_gradient(what)),
        "written": table({op.name: [parameter.name for parameter in op.written] for op in what.ops if op.written}),
        "rounds_up": any("ceil_div(" in line for op in what.ops for line in python_source.fake(op)),
        "gradient_table": table({gradient.name: (gradient.backward, gradient.of) for gradient in what.gradients}),
        "arch": _ARCHITECTURE if what.needs else "",
        "needs": ".".join(map(str, what.needs)) if what.needs else "",
        "order": table({op.name: _order(op) for op in what.ops}),
        "elements": table({
            op.name: {"arrays": sorted(op.of_element), "dtypes": list(op.elements)} for op in what.ops if op.of_element
        }),
    }  # fmt: skip


def _without_gradient(what: Package) -> list[str]:
    """Ops through which a gradient could be asked for, and that have none."""
    have = {gradient.name for gradient in what.gradients}
    return [op.name for op in what.ops if op.has_slopes and not op.written and op.name not in have]


def _order(op: OperatorSignature) -> tuple[list[str], list[str]]:
    arguments = [parameter.name for parameter in op.given] + [name for name, _ in op.numbers]
    return arguments, [parameter.name for parameter in (*op.written, *op.made)]


def _op_values(op: OperatorSignature) -> dict[str, Any]:
    elements = op.elements if op.of_element else (None,)
    title = op.problem.title.removesuffix(f", {op.elements[0]}") if op.of_element else op.problem.title
    instances = [
        {
            "macro": NUMERIC[element].kernel if element else "",
            "entry": cpp_source.entry(op, element),
            "namespace": cpp_source.namespace(op, element),
        }
        for element in elements
    ]
    return {
        "name": op.name, "title": title, "headers": headers(op.kernel), "file": _file(op), "entry": op.entry,
        "instances": instances,
        "cpp_head": cpp_source.head(op), "written": [word(parameter.name) for parameter in op.written],
        "refuse_gradients": python_source.refuse_gradients(op),
        "body": list(cpp_source.body(op)), "schema": cpp_source.schema(op), "made": bool(op.made),
        "python_head": python_source.head(op, op.name), "fake_head": python_source.head(op, f"_{op.name}_fake"),
        "python_parameters": ", ".join(python_source.parameters(op)),
        "described": sentence(f"{python_source.shapes(op)}.", indent=4),
        "usage": sentence(_usage(op), indent=4, further=4),
        "shapes": python_source.shapes(op), "call": python_source.call(op), "fake": list(python_source.fake(op)),
    }  # fmt: skip


def _usage(op: OperatorSignature) -> str:
    """How it is called, in a line of documentation."""
    returned = f" -> {python_source.returns(op)}" if op.made else ""
    return f"{op.name}({', '.join(python_source.parameters(op))}){returned}"


def _cases(ops: Sequence[OperatorSignature]) -> bytes:
    """Inputs, float64 answers and what a result may be off, as NumPy keeps them."""
    arrays: dict[str, np.ndarray[Any, Any]] = {}
    for op in ops:
        numbers = _order(op)[0]
        for number, prepared_case in enumerate(prepare(op.problem, _small(op.problem), keep=False)):
            values = {**prepared_case.case.sizes, **prepared_case.inputs}
            arrays |= {f"{op.name}/{number}/in/{name}": np.asarray(values[name]) for name in numbers}
            for name, expected in prepared_case.expected.items():
                if name in op.problem.invariants:
                    continue
                arrays[f"{op.name}/{number}/out/{name}"] = np.asarray(expected.values)
                if expected.bound is not None:
                    arrays[f"{op.name}/{number}/bound/{name}"] = np.asarray(expected.bound)
    data = io.BytesIO()
    save: Any = np.savez_compressed  # its own parameters have types that hide those of the arrays
    save(data, **arrays)
    return data.getvalue()


def _small(problem: Problem) -> list[Case]:
    """The public cases that are small, or the smallest, each with ordinary and with the problem's own kinds of data."""
    weight = {number: _elements(problem, sizes) for number, sizes in enumerate(problem.public)}
    small_enough = [number for number, count in weight.items() if count <= _MOST_ELEMENTS] or [
        min(weight, key=weight.__getitem__)
    ]
    kinds = ("normal", *problem.special)
    return [
        Case(problem.public[number], kind, _SEED + number)
        for number in small_enough
        for kind in (kinds if number == small_enough[0] else kinds[:1])
    ]


def _elements(problem: Problem, sizes: Any) -> int:
    return sum(prod(problem.shape(parameter, sizes)) for parameter in problem.parameters)


@functools.cache
def _environment() -> Any:
    import jinja2

    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(_TEMPLATES), trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True,
        undefined=jinja2.StrictUndefined, autoescape=False,
    )  # fmt: skip
