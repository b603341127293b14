"""Numba's CUDA functions to PTX, with no GPU and no driver: types given, messages with the user's line."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from importlib import import_module
from types import FunctionType, SimpleNamespace
from typing import Any

from gridstride.compiler.cache import shared as shared_cache
from gridstride.compiler.frontends import require, version_of
from gridstride.compiler.python.numba_link import as_text, link_pieces, own
from gridstride.compiler.python.numba_messages import explained
from gridstride.compiler.python.python_function import FunctionSource, digest, fingerprint, function_source
from gridstride.compiler.signature import KernelSignature, SourceParameter
from gridstride.protocol import LinkInput

_CACHE_FORMAT = "3"  # of the entries; raise it when what is stored, or how Numba is called, changes
_AT_LEAST = (0, 20)
_COMPILING = threading.RLock()
_INSTALL = "'numba-cuda[cu13]'"


@dataclass(frozen=True, slots=True)
class NumbaArgument:
    """One argument as a user gives it: `kind` "array", "scalar", "complex" or "tuple" (of `items`).

    An array has `ndim` dimensions in `layout` C, F or A; `dtype` is NumPy's name. Arrays and tuples are several PTX
    parameters: see `parameters`.
    """

    name: str
    kind: str
    spelled: str
    dtype: str | None = None
    ndim: int = 0
    layout: str = "C"
    writable: bool = True
    items: tuple[NumbaArgument, ...] = ()

    def parameters(self) -> Iterator[SourceParameter]:
        """The PTX parameters of this argument: of an array meminfo, parent, element count, element size, data, then
        the shape and the strides in bytes (numba.core.datamodel, ArrayModel).
        """
        if self.kind == "array":
            for part in ("meminfo", "parent"):
                yield SourceParameter(f"{self.name}.{part}", "void*", True, None)
            for part in ("size", "itemsize"):
                yield SourceParameter(f"{self.name}.{part}", "int64", False, "int64")
            yield SourceParameter(self.name, f"{'' if self.writable else 'const '}{self.spelled} *", True, self.dtype)
            for part in (*(f"shape[{n}]" for n in range(self.ndim)), *(f"strides[{n}]" for n in range(self.ndim))):
                yield SourceParameter(f"{self.name}.{part}", "int64", False, "int64")
        elif self.items:
            for item in self.items:
                yield from item.parameters()
        else:
            yield SourceParameter(self.name, self.spelled, False, self.dtype)


@dataclass(frozen=True, slots=True)
class NumbaOptions:
    """What @cuda.jit was given besides and the kernel's instructions depend on; of a plain function Numba's defaults.

    Of the others `lineinfo` is always on, for messages with lines, and changes no instruction; `debug`, `lto` and
    `cache` are without effect here.
    """

    fastmath: Any = False  # or the names of flags
    opt: bool | None = None
    launch_bounds: Any = None
    max_registers: int | None = None

    @classmethod
    def of(cls, function: Any) -> NumbaOptions:
        """Those of what @cuda.jit gave."""
        options = getattr(function, "targetoptions", {})
        return cls(**{field.name: options[field.name] for field in fields(cls) if field.name in options})


@dataclass(frozen=True, slots=True)
class NumbaFunction:
    """A Python function with the types of its arguments."""

    function: Callable[..., Any]
    name: str
    location: FunctionSource
    types: tuple[Any, ...]
    arguments: tuple[NumbaArgument, ...]
    link: tuple[Any, ...] = ()
    """What @cuda.jit(link=[…]) was given: paths, or Numba's CUSource and PTXSource."""
    options: NumbaOptions = NumbaOptions()


def numba_function(function: Any, signature: Any) -> NumbaFunction:
    """Check what is to be compiled; ValueError says what does not fit.

    `signature`: as Numba takes it, "void(float32[:], int32)", `void(float32[:], int32)` or a tuple of types; a function
    decorated with @cuda.jit is taken too. RuntimeError where Numba's CUDA compiler is missing or too old.
    """
    _cuda()
    link, options = tuple(getattr(function, "targetoptions", {}).get("link") or ()), NumbaOptions.of(function)
    function = getattr(function, "py_func", function)
    if not hasattr(function, "__code__"):
        raise ValueError(f"gs.numba takes a Python function, not a {type(function).__name__}")
    name, code = function.__name__, function.__code__
    names, types = code.co_varnames[: code.co_argcount], _types(name, signature)
    if len(names) != len(types):
        raise ValueError(f"{name} has {len(names)} parameters ({', '.join(names)}), signature has {len(types)} types")
    arguments = tuple(_argument(name, argument, type_) for argument, type_ in zip(names, types, strict=True))
    return NumbaFunction(function, name, function_source(function), types, arguments, link, options)


@dataclass(frozen=True, slots=True)
class NumbaCode:
    """PTX of a kernel, and what it must be linked with: files given as `link=`, and Numba's own for some operations."""

    ptx: str
    linked: tuple[LinkInput, ...] = ()


def compile_numba(function: NumbaFunction, *, arch: str = "sm_90a") -> NumbaCode:
    """PTX for `arch` with the kernel under the function's own name; CompileError with the Python line."""
    known_by = None if function.link else fingerprint(function.function)  # files may change at any time
    cache = shared_cache("numba")
    versions = version_of("numba", "numba-cuda", "llvmlite")
    key = known_by and digest([_CACHE_FORMAT, versions, known_by, repr(function.types), repr(function.options), arch])
    cached = cache.get(key) if key else None
    if cached is not None:
        cached_code = json.loads(cached)
        return NumbaCode(cached_code["ptx"], tuple(LinkInput(*piece) for piece in cached_code["linked"]))
    code, lasting = _compile(function, arch)
    if key and lasting:
        linked = [(piece.ptx, piece.filename, piece.source) for piece in code.linked]
        cache.put(key, json.dumps({"ptx": code.ptx, "linked": linked}).encode())
    return code


def numba_signature(function: NumbaFunction) -> KernelSignature:
    """The kernel's PTX parameters as a launch checks them."""
    parameters = tuple(parameter for argument in function.arguments for parameter in argument.parameters())
    return KernelSignature(function.name, parameters, (), function.location.line)


def _cuda() -> Any:
    what = "Numba's CUDA compiler"
    cuda = require("numba.cuda", distribution="numba-cuda", at_least=_AT_LEAST, install=_INSTALL, what=what)
    if not version_of("numba-cuda").removeprefix("numba-cuda").strip():
        raise RuntimeError(f"{what} is a package of its own, numba-cuda, and is not here: pip install {_INSTALL}")
    if not hasattr(cuda, "compile_ptx"):
        raise RuntimeError("Numba's CUDA simulator is on (NUMBA_ENABLE_CUDASIM=1), which compiles nothing: unset it")
    return cuda


def _compiler() -> Any:
    """Numba's CUDA compiler with all that it loads for its first kernel: what goes wrong there is no kernel's fault."""
    try:
        import_module("numba.cuda.np.arrayobj")
        return import_module("numba.cuda.compiler")
    except AttributeError as error:  # a NumPy without what an older numba-cuda takes from it
        versions = f"{version_of('numba-cuda').strip()} does not work with {version_of('numpy').strip()}"
        raise RuntimeError(f"{versions} ({error}): pip install --upgrade {_INSTALL}, or an older numpy") from error


def _types(name: str, signature: Any) -> tuple[Any, ...]:
    from numba.core import sigutils, types

    if isinstance(signature, list):
        signature = tuple(signature)
    try:
        arguments, returned = sigutils.normalize_signature(signature)
    except Exception as error:  # a string is evaluated: whatever that raises
        hint = f'; of one argument it is "void({signature})"' if "instead of tuple" in str(error) else ""
        raise ValueError(f"{name}: signature {signature!r} is none of Numba's: {error}{hint}") from None
    if returned not in (None, types.void):
        raise ValueError(f"{name}: a kernel returns nothing, signature says {returned}: write void(…)")
    return tuple(arguments)


def _argument(function: str, name: str, type_: Any) -> NumbaArgument:
    types: Any = import_module("numba.core.types")

    if isinstance(type_, types.Array):
        dtype, layout = _dtype(type_.dtype), type_.layout
        return NumbaArgument(name, "array", _spelled(type_), dtype, type_.ndim, layout, type_.mutable)
    if isinstance(type_, (types.Integer, types.Float, types.Boolean)):
        return NumbaArgument(name, "scalar", str(type_), _dtype(type_))
    if isinstance(type_, types.Complex):
        part = str(type_.underlying_float)
        parts = tuple(NumbaArgument(f"{name}.{which}", "scalar", part, part) for which in ("real", "imag"))
        return NumbaArgument(name, "complex", str(type_), items=parts)
    if isinstance(type_, types.BaseTuple):
        items = tuple(_argument(function, f"{name}[{n}]", item) for n, item in enumerate(type_.types))
        return NumbaArgument(name, "tuple", str(type_), items=items)
    raise ValueError(f"{function}: {name} is {type_}; a launch can give arrays, numbers and tuples of them")


def _spelled(array: Any) -> str:
    """An array type as a signature has it: "float32[:, ::1]"."""
    axes = [":"] * array.ndim
    if axes and array.layout != "A":
        axes[-1 if array.layout == "C" else 0] = "::1"
    return f"{array.dtype}[{', '.join(axes)}]"


def _dtype(type_: Any) -> str | None:
    """NumPy's name of a number's type; None for records and the like."""
    name = str(type_)
    supported = re.fullmatch(r"u?int(8|16|32|64)|float(16|32|64)|complex(64|128)|bool", name)
    return name if supported else None


def _compile(function: NumbaFunction, arch: str) -> tuple[NumbaCode, bool]:
    """The code, and whether it depends on nothing but what its key knows: no files of the user's."""
    _cuda()
    chip = divmod(int("".join(filter(str.isdigit, arch))), 10)
    from numba.core import types

    compiler = _compiler()
    options = function.options
    how: dict[str, Any] = {"device": False, "abi": "numba", "output": "ptx", "lineinfo": True, "cc": chip}
    how |= {"fastmath": options.fastmath, "opt": options.opt, "launch_bounds": options.launch_bounds}
    try:
        with _compiling_for(chip):
            codes, _ = compiler.compile_all(function.function, types.void(*function.types), **how)
    except FileNotFoundError as error:
        raise ValueError(f"{function.name}: link= names {error.filename}, which is not there") from None
    except Exception as error:  # Numba has errors of its own, of Python's kinds, and of NVVM
        if _lacks_nvvm(error):
            raise RuntimeError(f"Numba finds no NVVM, its CUDA back end ({error}): pip install {_INSTALL}") from error
        raise explained(function, error) from error
    ptx, *other_codes = codes
    entry = re.search(r"\.entry\s+([\w$]+)", ptx)
    assert entry is not None
    named = _limited(str(ptx).replace(entry[1], function.name), options.max_registers)
    pieces = link_pieces([*other_codes, *function.link], function.name, arch)
    return NumbaCode(named, pieces), all(own(item) for item in other_codes)


def _limited(ptx: str, registers: int | None) -> str:
    """The kernel with as many registers at most; Numba tells its linker, in PTX it is a directive before the body."""
    if not registers:
        return ptx
    return re.sub(r"(\.entry[^{]*?)(\s*\{)", rf"\1\n.maxnreg {registers}\2", ptx, count=1)


@contextmanager
def signatures_put_off() -> Iterator[None]:
    """Within, @cuda.jit("void(float32[:])") is taken as @cuda.jit: with a signature Numba compiles at once, for a GPU
    that it asks for."""
    from numba import cuda

    jit = cuda.jit

    def later(func_or_sig: Any = None, *args: Any, **options: Any) -> Any:
        without_signature = func_or_sig is None or isinstance(func_or_sig, FunctionType)
        return jit(func_or_sig, *args, **options) if without_signature else jit(*args, **options)

    cuda.jit = later
    try:
        yield
    finally:
        cuda.jit = jit


@contextmanager
def _compiling_for(chip: tuple[int, int]) -> Iterator[None]:
    """Numba asks the driver which chip to compile device functions for, though the kernel's is given: answer for it.
    Its NVRTC wants a driver too: CUDA C++ to be linked comes out as text, for ours to compile.
    """
    from numba.cuda import dispatcher

    with _COMPILING, as_text():
        ask = dispatcher.get_current_device
        dispatcher.get_current_device = lambda: SimpleNamespace(compute_capability=chip)
        try:
            yield
        finally:
            dispatcher.get_current_device = ask


def _lacks_nvvm(error: BaseException) -> bool:
    named = type(error).__name__
    return named in ("NvvmSupportError", "DynamicLibNotFoundError") or (
        isinstance(error, OSError) and "nvvm" in str(error)
    )
