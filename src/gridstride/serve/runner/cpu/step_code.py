"""The code of a step, compiled once for a shape and a machine, kept on disk."""

from __future__ import annotations

import ctypes
import platform
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Any

from gridstride.compiler.cache import shared as shared_cache
from gridstride.models.config import DecoderConfig
from gridstride.serve.runner.cpu.step_ir import StepShape, emit_step
from gridstride.serve.runner.cpu.vector_ir import Machine
from gridstride.virtual.machine.engine import compile_object, host, load_objects

_Step = ctypes.CFUNCTYPE(None, ctypes.c_int64)
_Linear = ctypes.CFUNCTYPE(None, *[ctypes.c_int64] * 10)


def machine() -> Machine:
    """This processor; RuntimeError for one that is older than AVX2."""
    features = host()[1].split(",")
    if "+avx512f" in features:
        return Machine(lanes=16, registers=32)
    if platform.machine() in ("aarch64", "arm64"):
        return Machine(lanes=4, registers=32)
    return Machine(lanes=8, registers=16)


class StepCode:
    """`step` and `linear` of `step_ir`, to be called with numbers; the GIL is free meanwhile."""

    def __init__(self, config: DecoderConfig, shape: StepShape) -> None:
        self._engine: Any = load_objects(_compiled(config, shape))
        self.step = _Step(self._engine.get_function_address("step"))
        self.linear = _Linear(self._engine.get_function_address(f"linear_{shape.products}"))


def _compiled(config: DecoderConfig, shape: StepShape) -> bytes:
    """The object. What it is made from is its key: writing the IR takes a third of a second."""
    import llvmlite

    origin = repr((config, shape, _sources(), host(), llvmlite.__version__)).encode()
    compiled, key = shared_cache("machine"), f"step/{blake2b(origin, digest_size=16).hexdigest()}"
    code = compiled.get(key)
    if code is None:
        code = compile_object(emit_step(config, shape), effort="thorough")
        compiled.put(key, code)
    return code


@cache
def _sources() -> str:
    """A digest of what writes the IR."""
    digest = blake2b(digest_size=16)
    for file in sorted(Path(__file__).parent.glob("*_ir.py")):
        digest.update(file.read_bytes())
    return digest.hexdigest()
