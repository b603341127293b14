"""LLVM IR to running machine code, once per host and kernel: compiled objects are kept on disk."""

from __future__ import annotations

import ctypes
import functools
import platform
from collections.abc import Iterable
from contextlib import nullcontext
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gridstride.compiler.cache import shared as shared_cache

if TYPE_CHECKING:
    from gridstride.virtual.machine.runtime_objects import Effort, RuntimeObject

_X86 = ("x86_64", "AMD64")
Run = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


@functools.cache
def _llvm() -> Any:
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    llvm.initialize_native_asmparser()
    # llvmlite does one call at a time. Emitting a long kernel takes a minute, in the background, while others are asked
    # for; modules in contexts of their own share nothing, so that this call needs no lock.
    llvm.ffi.lib.LLVMPY_TargetMachineEmitToMemory._lock = nullcontext()
    return llvm


@functools.cache
def host() -> tuple[str, str]:
    """Processor name and features that code is compiled for."""
    llvm = _llvm()
    features = llvm.get_host_cpu_features()
    missing = [f for f in ("avx2", "fma", "f16c") if platform.machine() in _X86 and not features.get(f)]
    if missing:
        raise RuntimeError(
            f"this processor has no {', '.join(missing)}: the virtual GPU needs an x86-64 of 2013 or later (x86-64-v3) "
            "or an AArch64; on a virtual machine, let it show the host's processor"
        )
    return llvm.get_host_cpu_name(), features.flatten()


@functools.cache
def version() -> str:
    """A digest of everything that decides what machine code a kernel becomes."""
    import llvmlite

    return blake2b(repr((sources(), host(), llvmlite.__version__)).encode(), digest_size=16).hexdigest()


@functools.cache
def sources() -> str:
    """A digest of the code that parses, lowers and runs kernels."""
    digest = blake2b(digest_size=16)
    room = Path(__file__).parent.parent
    for part in ("abi", "ptx", "ir", "runtime", "lowering", "machine"):
        for file in sorted((room / part).rglob("*.py")):
            digest.update(file.read_bytes())
    return digest.hexdigest()


def compile_object(ir: str, *, effort: Effort = "usual") -> bytes:
    """Compiles IR for this host: `quick` without optimising, which takes a third to a tenth of the time and gives code
    at a third of the speed; `thorough` is for what is compiled once and runs for ever after.
    """
    llvm = _llvm()
    module = llvm.parse_assembly(ir, context=llvm.create_context())
    module.verify()  # LLVM aborts the process on IR that breaks its rules, so a mistake here must not reach it
    machine = _machine(0 if effort == "quick" else 1)
    if effort != "quick":
        _optimise(module, machine, thorough=effort == "thorough")
    return machine.emit_object(module)  # type: ignore[no-any-return]


def _optimise(module: Any, machine: Any, *, thorough: bool) -> None:
    llvm = _llvm()
    options = llvm.create_pipeline_tuning_options(speed_level=2 if thorough else 1)
    options.loop_vectorization = options.slp_vectorization = options.loop_unrolling = False
    builder = llvm.create_pass_builder(machine, options)
    passes = builder.getModulePassManager() if thorough else _brief()
    passes.run(module, builder)


def _brief() -> Any:
    """The passes a kernel needs. The lowering leaves registers in stack slots and little else to do: the whole of -O1
    or -O2 takes three to five times as long over it, and no kernel of the ladders runs faster for it.
    """
    passes = _llvm().create_new_module_pass_manager()
    passes.add_always_inliner_pass()
    passes.add_sroa_pass()
    passes.add_simplify_cfg_pass()
    passes.add_instruction_combine_pass()
    passes.add_simplify_cfg_pass()
    return passes


def _machine(level: int = 1) -> Any:
    name, features = host()
    target = _llvm().Target.from_default_triple()
    return target.create_target_machine(cpu=name, features=features, opt=level, reloc="default", jit=True)


class MachineCode:
    """A loaded object: keeps the memory of its functions. `rare`: it calls what few kernels do (runtime_objects.py)."""

    def __init__(self, data: bytes, *, rare: bool) -> None:
        llvm = _llvm()
        _runtime()
        if rare:
            _rare()
        self._engine = load_objects(data)
        self.kernel = self._engine.get_function_address("kernel")
        if not self.kernel:
            raise RuntimeError(f"the compiled kernel has no entry; LLVM {llvm.llvm_version_info}")

    def address(self, name: str) -> int:
        """Where one of its functions starts."""
        return int(self._engine.get_function_address(name))


def load_objects(*objects: bytes) -> Any:
    """An engine with the functions of these objects, whose memory it keeps."""
    llvm = _llvm()
    # use_lmm: all sections in one piece. LLVM's own manager places them one by one, and aborts the process where the
    # gap between code and constants comes out larger than 2 GB, as it may with a reserved arena in the way.
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), _machine(), use_lmm=True)
    for data in objects:
        engine.add_object_file(llvm.ObjectFileRef.from_data(data))
    engine.finalize_object()
    return engine


class Runtime:
    """Parts of the runtime (runtime_objects.py), loaded and made known to the linker; keeps their memory."""

    def __init__(self, *parts: str) -> None:
        stored = [_stored(part) for part in parts]
        self.names = frozenset(name for names, _ in stored for name in names)
        self.engine = load_objects(*(code for _, code in stored))
        for name in self.names:
            _llvm().add_symbol(name, self.engine.get_function_address(name))


@functools.cache
def _runtime() -> tuple[Runtime, Any]:
    """The scheduler and its helpers, and gs_run."""
    runtime = Runtime("core", "watched")
    return runtime, Run(runtime.engine.get_function_address("gs_run"))


@functools.cache
def _rare() -> Runtime:
    _runtime()
    return Runtime("rare")


def _stored(name: str) -> tuple[list[str], bytes]:
    """The names that a part of the runtime defines, and its object; compiled now where this is new."""
    cache, key = shared_cache("machine"), f"runtime/{name}/{version()}"
    stored = cache.get(key)
    if stored is None:
        part = _parts()[name]
        stored = " ".join(part.names).encode() + b"\n" + compile_object(part.ir, effort=part.effort)
        cache.put(key, stored)
    names, _, code = stored.partition(b"\n")
    return names.decode().split(), code


@functools.cache
def _parts() -> dict[str, RuntimeObject]:
    from gridstride.virtual.machine.runtime_objects import split

    parts = split()
    return {"core": parts.core[0], "watched": parts.core[1], "rare": parts.rare}


def calls_rare(names: Iterable[str]) -> bool:
    """Whether a kernel that calls these functions needs the rare part of the runtime."""
    rare = {name for name in names if name.startswith("gs_")} - _runtime()[0].names
    unknown = rare - _rare().names if rare else rare
    if unknown:  # LLVM would abort the process
        raise RuntimeError(f"the runtime has no {', '.join(sorted(unknown))}")
    return bool(rare)


def prepare() -> None:
    """Has the runtime ready, which is compiled once on a machine and takes seconds then."""
    _runtime()


def run(worker: int) -> None:
    """Runs blocks of the worker's launch until none are left; the GIL is free meanwhile."""
    _runtime()[1](worker)
