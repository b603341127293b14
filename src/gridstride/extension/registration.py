"""A definition as an op of PyTorch's: schema, CUDA and CPU kernels, fake tensors, autograd."""

from __future__ import annotations

import keyword
import re
from functools import partial
from typing import Any

import torch

from gridstride.extension.autograd import register_gradient, register_refusal
from gridstride.extension.call import OpCall, torch_dtype
from gridstride.extension.definition import IN_PLACE, OUTPUT, Definition
from gridstride.extension.gradient import Gradient

_NAME = re.compile(r"[A-Za-z_]\w*::[A-Za-z_]\w*")
_RESERVED = frozenset(
    "aten prim prims torch higher_order gridstride c10d _c10d_functional quantized _quantized quantization inductor "
    "inductor_prims mkl mkldnn mkldnn_prepacked onednn profiler sparse export symm_mem static_runtime".split()
)
"""Namespaces of PyTorch's own ops, and of ours."""
_libraries: dict[str, torch.library.Library] = {}
"""What each op was registered by: a notebook's cell that is run again defines its op anew."""
_anchors: dict[str, torch.library.Library] = {}
"""A kernel of each op that is never taken back. PyTorch frees an operator that has neither a schema nor kernels, and
whoever still holds it from before, a module or what was compiled, would call what lies there next."""


def register(definition: Definition, backward: Any, cpu: Any) -> Any:
    """The op's overload; an earlier op of this name by `gs.torch_op` is replaced."""
    name = definition.name
    _check_name(name)
    if cpu is not None and not callable(cpu):
        raise TypeError(f"{name}: cpu is {cpu!r}, not a function")
    for number in range(len(definition.kernels)):
        for output in definition.of(OUTPUT):
            torch_dtype(definition, number, output)
    if backward is not None and definition.of(IN_PLACE):
        raise ValueError(f"{name}: {definition.of(IN_PLACE)[0]} is written in place, and such an op has no backward")
    gradient = Gradient(definition, backward) if backward is not None else None
    namespace, short = name.split("::")
    if name in _libraries:
        _libraries.pop(name)._destroy()
    library = torch.library.Library(namespace, "FRAGMENT")
    call = OpCall(definition, cpu)
    try:
        library.define(f"{short}{definition.schema}", tags=(torch.Tag.pt2_compliant_tag,))
    except RuntimeError as error:
        reason = str(error).splitlines()[0]
        raise ValueError(f"{name}: PyTorch takes no schema {short}{definition.schema}: {reason}") from None
    library.impl(short, call.cuda, "CUDA")
    library.impl(short, call.cpu, "CPU")
    for key in ("Negative", "Conjugate") if definition.of(IN_PLACE) else ():
        library.impl(short, call.lazy, key)
    torch.library.register_fake(name, call.fake, lib=library)
    op = getattr(getattr(torch.ops, namespace), short).default
    if gradient is not None:
        register_gradient(library, op, gradient.give, gradient.keep)
    else:
        register_refusal(library, op, _instead(definition))
    _libraries[name] = library
    if name not in _anchors:
        anchor = _anchors[name] = torch.library.Library(namespace, "IMPL")
        anchor.impl(short, partial(_no_opaque_tensors, name), "MkldnnCPU")
    return op


def _no_opaque_tensors(name: str, *_: Any) -> None:
    raise TypeError(f"{name}: MKL-DNN's tensors have no memory that a kernel could use: call to_dense() first")


def _instead(definition: Definition) -> str:
    """What to do where a gradient of an op without one is wanted."""
    if written := definition.of(IN_PLACE):
        way_out = "call it under torch.no_grad(), or let the kernel write to another array"
        return f"it writes {', '.join(written)} in place: {way_out}"
    return "gs.torch_op(…, backward=…) gives it one"


def _check_name(name: str) -> None:
    namespace, _, short = name.partition("::")
    if not _NAME.fullmatch(name) or keyword.iskeyword(namespace) or keyword.iskeyword(short):
        raise ValueError(f'{name!r} is no name of an op: it has a namespace of yours, as in "mine::gelu"')
    if name not in _libraries and hasattr(getattr(torch.ops, namespace), short):
        raise ValueError(f"{name} is an op that something else has registered: give yours another name")
    if namespace in _RESERVED:
        raise ValueError(f'{name}: the namespace {namespace} is not yours: take one of your own, as in "mine::{short}"')
