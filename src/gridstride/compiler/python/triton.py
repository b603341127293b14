"""Triton functions to PTX, with no GPU and no driver; signature and constants are checked before."""

from __future__ import annotations

import json
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any

from gridstride.compiler.cache import shared as shared_cache
from gridstride.compiler.frontends import require, version_of
from gridstride.compiler.python.python_function import FunctionSource, digest
from gridstride.compiler.python.triton_messages import explained, file_of, first_line
from gridstride.compiler.python.triton_other import loads_without_other
from gridstride.compiler.python.triton_tuned import tuned
from gridstride.compiler.signature import KernelSignature, SourceParameter

_CACHE_FORMAT = "3"  # of the entries; raise it when what is stored, or how Triton is called, changes
_AT_LEAST = (3, 5)
_ALIGNED = ":16"
_DESCRIPTOR = re.compile(r"tensordesc<(\w+)\[(\d+(?:, ?\d+)*)\]>")
_DTYPES = {
    "i1": "bool", "i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64",
    "u1": "bool", "u8": "uint8", "u16": "uint16", "u32": "uint32", "u64": "uint64",
    "fp16": "float16", "bf16": "bfloat16", "fp32": "float32", "fp64": "float64",
    "fp8e4nv": "float8_e4m3fn", "fp8e5": "float8_e5m2", "fp8e4b8": "float8_e4m3fnuz", "fp8e5b16": "float8_e5m2fnuz",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class TritonFunction:
    """A `@triton.jit` function with the types of its arguments settled.

    `types`: each runtime parameter's Triton type in order, without ":16". `aligned`: those whose values (addresses and
    numbers) are multiples of 16. `constants`: values of the others.
    """

    function: Any
    name: str
    location: FunctionSource
    types: Mapping[str, str]
    aligned: frozenset[str]
    constants: Mapping[str, Any]
    num_warps: int
    num_stages: int
    notes: tuple[str, ...] = ()
    """Which configuration was taken, where the function has several."""

    @property
    def names(self) -> tuple[str, ...]:
        """All parameters, in order."""
        return tuple(self.function.arg_names)


@dataclass(frozen=True, slots=True)
class TritonCode:
    """PTX, and what a launch must give beside the user's own arguments.

    `shared`: dynamic shared memory in bytes. `scratch`: bytes of global memory for each block, behind the first of the
    `hidden` pointers that follow the user's parameters; the others may be null. `boxes`: for each tensordesc parameter
    in order, what one copy moves (elements of each dimension) and the swizzle of its tensor map, in bytes.
    """

    ptx: str
    entry: str
    threads: int
    shared: int
    scratch: int
    hidden: int
    boxes: Sequence[tuple[Sequence[int], int]] = ()
    without_other: Sequence[str] = ()
    """"line:column" of each masked load without `other`."""


def triton_function(
    function: Any, *, signature: Mapping[str, str] | Sequence[str], constants: Mapping[str, Any] | None = None,
    num_warps: int | None = None, num_stages: int | None = None,
) -> TritonFunction:  # fmt: skip
    """Check what is to be compiled; ValueError names the parameter and what could stand there.

    `signature`: Triton's types by parameter ("*fp32", "i32", "*kbf16" for what is only read; ":16" behind one promises
    that the address or number is a multiple of 16), or in order of the parameters that are no constants. Of
    @triton.autotune the first configuration that agrees with what is given is taken; without one there are 4 warps and
    3 stages. RuntimeError where Triton is missing or too old.
    """
    _triton()
    chosen = tuned(function, constants or {}, num_warps)
    num_warps, num_stages = chosen.num_warps or 4, num_stages or chosen.num_stages or 3
    jit = _jit(chosen.function)
    values = _constants(jit, chosen.constants, signature)
    types = _types(jit, values, signature)
    plain = {name: type_.removesuffix(_ALIGNED) for name, type_ in types.items()}
    for name, spelled in plain.items():
        _check_type(jit.__name__, name, spelled)
    if num_warps < 1 or num_warps & (num_warps - 1) or num_warps > 32:
        raise ValueError(f"{jit.__name__}: num_warps={num_warps} must be a power of two up to 32")
    return TritonFunction(
        function=jit,
        name=jit.__name__,
        location=FunctionSource(file_of(jit), first_line(jit)),
        types=plain,
        aligned=frozenset(name for name, type_ in types.items() if type_.endswith(_ALIGNED)),
        constants=values,
        num_warps=num_warps,
        num_stages=num_stages,
        notes=chosen.notes,
    )


def compile_triton(function: TritonFunction, *, arch: str = "sm_90a") -> TritonCode:
    """PTX for `arch`, from the cache where it was made before; CompileError with the Python line."""
    triton = _triton()
    source = _source(triton, function)
    cache, key = shared_cache("triton"), _key(function, source, arch)
    cached = cache.get(key)
    if cached is not None:
        return TritonCode(**json.loads(cached))
    code = _compile(triton, function, source, arch)
    cache.put(key, json.dumps(asdict(code)).encode())
    return code


def triton_signature(function: TritonFunction, hidden: int) -> KernelSignature:
    """The kernel's parameters as a launch checks them, Triton's own pointers last."""
    own = [p for name, spelled in function.types.items() for p in _parameters(name, spelled)]
    scratch = [SourceParameter(f"scratch {number}", "void*", True, None) for number in range(1, hidden + 1)]
    return KernelSignature(function.name, (*own, *scratch), (), function.location.line)


def descriptor(spelled: str) -> tuple[str, int] | None:
    """(NumPy dtype, dimensions) of a "tensordesc<fp16[64, 32]>", None for other types."""
    match = _DESCRIPTOR.fullmatch(spelled)
    return (_DTYPES.get(match[1], ""), match[2].count(",") + 1) if match else None


def _parameters(name: str, spelled: str) -> list[SourceParameter]:
    """A tensor descriptor is a tensor map, then each dimension's size, then each one's stride in elements."""
    described = descriptor(spelled)
    if described is None:
        return [_parameter(name, spelled)]
    sizes = [SourceParameter(f"{name}.shape[{i}]", "i32", False, "int32") for i in range(described[1])]
    strides = [SourceParameter(f"{name}.strides[{i}]", "i64", False, "int64") for i in range(described[1])]
    return [SourceParameter(name, spelled, False, None), *sizes, *strides]


def _parameter(name: str, spelled: str) -> SourceParameter:
    base = spelled.removeprefix("*").removeprefix("k")
    pointer = spelled.startswith("*")
    # Half-precision numbers come as float32 parameters, which the kernel narrows itself.
    dtype = _DTYPES[base] if pointer or base not in ("fp16", "bf16") else "float32"
    return SourceParameter(name, f"const *{base}" if spelled.startswith("*k") else spelled, pointer, dtype)


def _triton() -> Any:
    return require("triton", distribution="triton", at_least=_AT_LEAST, install="'triton>=3.5'", what="Triton")


def _jit(function: Any) -> Any:
    """The JITFunction; a plain Python function is decorated here."""
    triton = _triton()
    from triton.runtime.jit import JITFunction

    if isinstance(function, JITFunction):
        return function
    name = getattr(function, "__name__", type(function).__name__)
    if type(function).__name__ == "InterpretedFunction":
        raise ValueError(f"{name} was decorated under TRITON_INTERPRET=1, which leaves nothing to compile: unset it")
    if hasattr(function, "fn"):
        inner = getattr(function.fn, "__name__", "it")
        raise ValueError(f"{inner} is wrapped in an {name}: give the function itself, {inner}.fn, and constants=…")
    if not callable(function) or not hasattr(function, "__code__"):
        raise ValueError(f"gs.triton takes a function decorated with @triton.jit, not a {type(function).__name__}")
    return triton.jit(function)


def _constants(jit: Any, constants: Mapping[str, Any], signature: Mapping[str, str] | Sequence[str]) -> dict[str, Any]:
    """`constants`, and the defaults of tl.constexpr parameters that it leaves out."""
    for name in constants:
        if name not in jit.arg_names:
            raise ValueError(f"{jit.__name__} has no parameter {name!r}; it has {', '.join(jit.arg_names)}")
    values = dict(constants)
    by_name = signature if isinstance(signature, Mapping) else None
    for parameter in jit.params:
        name = parameter.name
        # A plain parameter with a default is left to it only where the signature names parameters and not this one.
        untyped = by_name is not None and by_name.get(name, "constexpr") == "constexpr"
        if name not in values and parameter.has_default and (parameter.is_constexpr or untyped):
            values[name] = parameter.default
        if name not in values and parameter.is_constexpr:
            raise ValueError(f"{jit.__name__}: {name} is a tl.constexpr and has no value: constants={{'{name}': …}}")
    return {name: values[name] for name in jit.arg_names if name in values}


def _types(jit: Any, constants: Mapping[str, Any], signature: Mapping[str, str] | Sequence[str]) -> dict[str, str]:
    """The Triton type of each parameter that is no constant, in order."""
    runtime = [name for name in jit.arg_names if name not in constants]
    if not isinstance(signature, Mapping):
        listed = _split(signature) if isinstance(signature, str) else list(signature)
        if len(listed) != len(runtime):
            names = ", ".join(runtime)
            raise ValueError(
                f"{jit.__name__}: signature has {len(listed)} types for {len(runtime)} parameters ({names})"
            )
        return dict(zip(runtime, listed, strict=True))
    for name, spelled in signature.items():
        if name not in jit.arg_names:
            raise ValueError(f"{jit.__name__} has no parameter {name!r}; it has {', '.join(jit.arg_names)}")
        if name in constants and spelled != "constexpr":
            raise ValueError(
                f"{jit.__name__}: {name} is in constants and has type {spelled!r} in signature: choose one"
            )
    for name in runtime:
        if signature.get(name, "constexpr") == "constexpr":
            raise ValueError(f"{jit.__name__}: {name} has neither a type in signature nor a value in constants")
    return {name: signature[name] for name in runtime}


def _split(signature: str) -> list[str]:
    """Types between commas, but for those inside of a tensordesc<…>."""
    return [item.strip() for item in re.split(r",(?![^<]*>)", signature)]


def _check_type(function: str, name: str, spelled: str) -> None:
    described = descriptor(spelled)
    if described is not None and described[0]:
        return
    base = spelled.removeprefix("*").removeprefix("k" if spelled.startswith("*k") else "")
    if base not in _DTYPES or (base.startswith("fp8") and not spelled.startswith("*")):
        raise ValueError(
            f"{function}: {name} is {spelled!r}, which is no type of Triton's: it is one of {', '.join(_DTYPES)}, "
            'as "*fp32" for an array of them, "tensordesc<fp16[64, 32]>" for a tensor descriptor'
        )


def _source(triton: Any, function: TritonFunction) -> Any:
    signature = {name: function.types.get(name, "constexpr") for name in function.names}
    attributes = {(function.names.index(name),): [["tt.divisibility", 16]] for name in sorted(function.aligned)}
    return triton.compiler.ASTSource(function.function, signature, dict(function.constants), attributes)


def _key(function: TritonFunction, source: Any, arch: str) -> str:
    shape = f"{arch} {function.num_warps} {function.num_stages} {function.names} {source.signature}"
    location = f"{function.location.file}:{function.location.line}"  # lines and the file are in the PTX
    return digest([_CACHE_FORMAT, version_of("triton"), shape, location, source.hash()])


def _compile(triton: Any, function: TritonFunction, source: Any, arch: str) -> TritonCode:
    from triton.backends.compiler import GPUTarget

    target = GPUTarget("cuda", int("".join(filter(str.isdigit, arch))), 32)
    options = {"num_warps": function.num_warps, "num_stages": function.num_stages, "enable_fp_fusion": True}
    try:
        with fresh_cache():
            compiled = triton.compile(source, target=target, options=options)
    except Exception as error:  # Triton raises its own errors, MLIR's RuntimeError, and whatever static code raises
        raise explained(function, error) from error
    return compiled_code(function, compiled.metadata, compiled.asm["ptx"], compiled.asm["ttir"])


def compiled_code(function: TritonFunction, metadata: Any, ptx: str, ttir: str = "") -> TritonCode:
    """What Triton made of a function, from its metadata and its PTX; without its `ttir` no load counts as masked."""
    return triton_code(metadata, ptx, ttir, own=sum(len(_parameters(*item)) for item in function.types.items()))


def triton_code(metadata: Any, ptx: str, ttir: str = "", *, own: int) -> TritonCode:
    """The same of what has so many parameters of its `own`."""
    return TritonCode(
        ptx=_in_their_lines(ptx),
        entry=metadata.name,
        threads=32 * metadata.num_warps,
        shared=metadata.shared,
        scratch=getattr(metadata, "global_scratch_size", 0),
        hidden=_parameter_count(ptx) - own,
        boxes=[_box(box) for box in getattr(metadata, "tensordesc_meta", None) or ()],
        without_other=list(loads_without_other(ttir)),
    )


@contextmanager
def fresh_cache() -> Iterator[None]:
    """Triton's own cache, which is empty: it knows functions by their text, and what it kept names the file that held
    such a text once. Results are kept in ours, by file and line.
    """
    from triton import knobs

    folder = tempfile.mkdtemp(prefix="gridstride-triton-")
    try:
        with knobs.cache.scope():
            knobs.cache.dir = folder
            yield
    finally:
        shutil.rmtree(folder, ignore_errors=True)  # a judge's worker may write and not remove


def _in_their_lines(ptx: str) -> str:
    """LLVM counts lines on within inline assembly, in which Triton loads and stores; all of it belongs to the
    line that it begins with.
    """
    lines, inside, located = [], False, False
    for line in ptx.splitlines(keepends=True):
        words = line.strip()
        if words in ("// begin inline asm", "// end inline asm"):
            inside, located = words.startswith("// begin"), False
        elif inside and words.startswith(".loc"):
            if located:
                continue
            located = True
        lines.append(line)
    return "".join(lines)


def _box(meta: Mapping[str, Any]) -> tuple[Sequence[int], int]:
    """Triton counts swizzles 0 to 3: none, 32, 64 and 128 bytes."""
    return list(meta["block_size"]), 16 << meta["swizzle"] if meta["swizzle"] else 0


def _parameter_count(ptx: str) -> int:
    header = ptx[ptx.index(".entry") :]
    return header[: header.index("{")].count(".param")
