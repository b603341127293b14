"""Triton's own intermediate text to PTX: what other compilers, as JAX's Pallas, hand over."""

from __future__ import annotations

import json
import re
import tempfile
from dataclasses import asdict
from pathlib import Path

from gridstride.compiler.cache import shared as shared_cache
from gridstride.compiler.frontends import require, version_of
from gridstride.compiler.python.python_function import digest
from gridstride.compiler.python.triton import TritonCode, fresh_cache, triton_code

AT_LEAST = (3, 6)
_CACHE_HINTS = re.compile(r" (?:cacheModifier|evictionPolicy) = \w+")
"""What a load asks of caches, which Triton's versions spell in two ways; no result depends on it."""


def compile_text(text: str, *, parameters: int, num_warps: int, num_stages: int, arch: str) -> TritonCode:
    """PTX of a module with one function of so many `parameters`; RuntimeError where Triton refuses it or is missing."""
    cache = shared_cache("triton")
    key = digest(["text 1", version_of("triton"), f"{arch} {parameters} {num_warps} {num_stages}", text])
    cached = cache.get(key)
    if cached is not None:
        return TritonCode(**json.loads(cached))
    triton = require("triton", distribution="triton", at_least=AT_LEAST, install="'triton>=3.6'", what="Triton")
    from triton.backends.compiler import GPUTarget

    target = GPUTarget("cuda", int("".join(filter(str.isdigit, arch))), 32)
    options = {"num_warps": num_warps, "num_stages": num_stages, "enable_fp_fusion": True}
    with tempfile.TemporaryDirectory(prefix="gridstride-triton-") as folder, fresh_cache():
        source = Path(folder, "module.ttir")
        source.write_text(_CACHE_HINTS.sub("", text))
        compiled = triton.compile(str(source), target=target, options=options)
    code = triton_code(compiled.metadata, compiled.asm["ptx"], own=parameters)
    cache.put(key, json.dumps(asdict(code)).encode())
    return code
