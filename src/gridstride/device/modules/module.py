"""Modules: CUDA C++ or PTX whose kernels are looked up by name and run on whichever device is in use."""

from __future__ import annotations

import copy
import difflib
import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from gridstride.compiler.mangling import compiled_types, type_argument
from gridstride.compiler.names import source_name
from gridstride.device.arrays import DeviceArray
from gridstride.device.choice import device as choose
from gridstride.device.element_types import element_type
from gridstride.device.launch.kernel import BoundKernel, Kernel
from gridstride.device.launch.parameters import parameters
from gridstride.device.modules.linked_source import LinkedSource
from gridstride.device.modules.sources import CompiledUnit, CudaSource, PtxSource, Source, split_expression
from gridstride.protocol import LinkError, UnknownName

if TYPE_CHECKING:
    from gridstride.compiler import Compiled, Diagnostic, KernelSignature
    from gridstride.protocol import Device, DeviceModule

_PATH = re.compile(r"[^\n{};()<>]*\.(?:cu|cuh|ptx|h|hpp|cpp|cc|c|txt)", re.IGNORECASE)
_DEVICES_KEPT = 4  # a module in a loop over fresh virtual GPUs must not keep all their memories alive


def cuda(
    source: str | Path | Sequence[str | Path], options: Sequence[str] = (), *, filename: str = "kernel.cu",
    include_paths: Sequence[str] = (), compiler: str | None = None,
) -> Module:  # fmt: skip
    """CUDA C++ as a module; `options` are NVRTC's, a Path is read and gives its own name to messages.

    `include_paths` are folders of headers; those beside a file that is given as a Path are found by themselves.

    Several sources in a list are compiled one by one as relocatable code (-rdc=true) and linked.

    `compiler` is "nvrtc" or "clang" (one on PATH, or the one that GRIDSTRIDE_CLANG names), None for the one that
    GRIDSTRIDE_COMPILER names, else NVRTC.

    Raises CompileError with file, line and column, LinkError where the files do not fit together.
    """
    if isinstance(source, bytes) or not isinstance(source, str | Path | Sequence):
        raise TypeError(f"CUDA C++ must be a str, a Path or a list of them, not {type(source).__name__}")
    _refuse_a_path(source, "cuda")
    if not isinstance(source, str | Path):
        return _several(source, options, filename, include_paths, compiler)
    if isinstance(source, Path):
        path, source, filename = source, _text(source), str(source)
        include_paths = (*_beside(path, source), *include_paths)
    code = CudaSource(source, options=options, filename=filename, include_paths=include_paths, compiler=compiler)
    code.unit(choose().properties.arch)  # what does not compile says so here, not at the first launch
    code.warn()
    return Module(code)


def compiled_module(compiled: Compiled) -> Module:
    """A module of CUDA C++ that was compiled already, for a device of its architecture."""
    code = CudaSource(compiled.source, options=(), filename=compiled.filename, include_paths=())
    code.take(compiled, None, *(name for name in compiled.names if "<" in name))
    return Module(code)


def _beside(path: Path, source: str) -> tuple[str, ...]:
    from gridstride.compiler.includes import beside
    from gridstride.compiler.lexer import Text

    return tuple(map(str, beside(path, Text(source))))


def _several(
    sources: Sequence[str | Path], options: Sequence[str], filename: str, include_paths: Sequence[str],
    compiler: str | None,
) -> Module:  # fmt: skip
    stem, dot, ending = filename.rpartition(".")
    relocatable = options if isinstance(options, str) else ("-rdc=true", *options)
    modules = [
        cuda(source, relocatable, filename=f"{stem}_{n}{dot}{ending}", include_paths=include_paths, compiler=compiler)
        for n, source in enumerate(sources, 1)
    ]
    return link(*modules)


def ptx(text: str | Path, *, filename: str = "<ptx>") -> Module:
    """PTX as a module, loaded on the device in use at once, so that what it cannot run is refused here."""
    if isinstance(text, Path):
        text, filename = _text(text), str(text)
    if not isinstance(text, str):
        raise TypeError(f"PTX must be a str or a Path, not {type(text).__name__}")
    _refuse_a_path(text, "ptx")
    module = Module(PtxSource(text, filename=filename))
    with suppress(LinkError):  # gs.link may bring what is missing; a kernel asked for without it says so
        module.on(choose())
    return module


def link(*modules: Module) -> Module:
    """One module of several, with functions and variables that one declares `extern` taken from the others.

    CUDA C++ wants options=("-rdc=true",) for that. LinkError names what is defined nowhere, twice, or otherwise than it
    is declared; modules that were loaded by themselves stay what they are.
    """
    if not modules:
        raise TypeError("gs.link takes modules: gs.link(gs.cuda(…), gs.ptx(…))")
    for module in modules:
        if not isinstance(module, Module):
            raise TypeError(
                f"gs.link takes modules, not {type(module).__name__}: gs.cuda, gs.ptx and gs.numba make them"
            )
    linked = Module(LinkedSource([s for module in modules for s in module.sources]))
    linked.on(choose())
    return linked


class Module:
    """Kernels of one source: `module["saxpy"]`, and for templates `module["tile<float, 16>"]`.

    A list of names gives a list of kernels, whose template instances are compiled together: one run of the compiler,
    where each asked for by itself takes one of its own.
    """

    def __init__(self, source: Source) -> None:
        self._source = source
        self._loaded: dict[Device, LoadedSource] = {}
        self._kernels: dict[str, Kernel] = {}

    @overload
    def __getitem__(self, name: str) -> Kernel: ...
    @overload
    def __getitem__(self, name: list[str]) -> list[Kernel]: ...
    def __getitem__(self, name: str | list[str]) -> Kernel | list[Kernel]:
        if isinstance(name, list):
            self.on(choose()).compile_batch([item for item in name if isinstance(item, str)])
            return [self[item] for item in name]
        if not isinstance(name, str):
            raise TypeError(f'a kernel name must be a str, not {type(name).__name__}: module["saxpy"]')
        kernel = self._kernels.get(name)
        if kernel is None:
            device = choose()
            self.on(device).bound(name)
            kernel = self._kernels[name] = self._kernel(name)
            for source in self.sources:  # a template's instance was compiled just now
                if isinstance(source, CudaSource):
                    source.warn()
        return kernel

    def __getattr__(self, name: str) -> Kernel:
        """`module.saxpy` is `module["saxpy"]`."""
        if name.startswith("_"):
            raise AttributeError(name)
        try:
            return self[name]
        except UnknownName as error:
            raise AttributeError(f"a module has no {name}, and {error}") from None

    def __repr__(self) -> str:
        return f"<module {self._source.filename}: {', '.join(self.kernels) or 'no kernels'}>"

    @property
    def sources(self) -> tuple[Source, ...]:
        """What the module is made from; several where it was linked."""
        return tuple(getattr(self._source, "sources", (self._source,)))

    @property
    def warnings(self) -> tuple[Diagnostic, ...]:
        """What the CUDA compiler warned of, template instances with those that were asked for so far."""
        return tuple(
            warning for source in self.sources if isinstance(source, CudaSource) for warning in source.warnings
        )

    @property
    def kernels(self) -> tuple[str, ...]:
        """Names of the kernels; a template is shown with its parameters."""
        return self.on(choose()).listing()

    @property
    def ptx(self) -> str:
        """PTX of all that is no template instance, for the device in use."""
        device = choose()
        return self._source.unit(device.properties.arch).ptx

    def symbol(self, name: str, dtype: Any = "uint8") -> DeviceArray:
        """A `__device__` or `__constant__` variable as an array; UnknownName when there is none.

        A template instance has variables of its own, but for those that it was asked for together with, which share
        them: `module["tile<16>"].symbol(name)`.
        """
        return self.on(choose()).symbol(None, name, dtype)

    def on(self, device: Device) -> LoadedSource:
        """The module's code on `device`, loaded when first asked for."""
        loaded = self._loaded.get(device)
        if loaded is None:
            loaded = LoadedSource(self._source, device)
            while len(self._loaded) >= _DEVICES_KEPT:
                del self._loaded[next(iter(self._loaded))]
            self._loaded[device] = loaded
        return loaded

    def again(self) -> Module:
        """The same code, loaded anew where it is asked for: its variables hold what they held at first."""
        fresh = copy.copy(self)
        fresh._loaded, fresh._kernels = {}, {}
        return fresh

    def _kernel(self, name: str) -> Kernel:
        return Kernel(self, name)


class LoadedSource:
    """A source's compiled units on one device."""

    def __init__(self, source: Source, device: Device) -> None:
        self._source = source
        self._device = device
        plain = source.unit(device.properties.arch)
        self._units: dict[str | None, DeviceModule] = {None: self._load(plain)}
        self._types = dict(plain.types)
        self._names = _by_source_name(self._units[None].kernels)
        self._bound: dict[str, BoundKernel] = {}

    def bound(self, name: str) -> BoundKernel:
        """The kernel of a name or name expression, ready to launch here; UnknownName."""
        bound = self._bound.get(name)
        if bound is None:
            unit, lowered = self._locate(name)
            kernel = self._units[unit].kernels[lowered]
            base, arguments = split_expression(name if unit else source_name(lowered) or lowered)
            signature = self._source.signatures.get(base) or self._in_a_namespace(base)
            compiled = type_argument(self._types[lowered]) if lowered in self._types else compiled_types(lowered)
            kernel_parameters = parameters(kernel.parameters, signature, arguments, compiled)
            bound = self._bound[name] = BoundKernel(self._device, kernel, kernel_parameters, name)
        return bound

    def compile_batch(self, names: Sequence[str]) -> None:
        """Compiles and loads the template instances among the names as one; they share their variables."""
        arch = self._device.properties.arch
        new = [name for name in dict.fromkeys(names) if name not in self._units and self._instance(name)]
        if len(new) < 2 or not isinstance(self._source, CudaSource):
            return
        self._source.compile_batch(arch, new)
        self._units |= dict.fromkeys(new, self._load(self._source.unit(arch, new[0])))

    def symbol(self, kernel: str | None, name: str, dtype: Any) -> DeviceArray:
        """A variable of the unit that `kernel` stands in (None: of the plain one)."""
        held, spelled = element_type(dtype)
        module = self._units[None if kernel is None else self._locate(kernel)[0]]
        try:
            address, nbytes = module.global_address(name)
        except KeyError:
            raise UnknownName(f"{self._source.filename} has no __device__ or __constant__ variable {name!r}") from None
        if nbytes % held.itemsize:
            raise ValueError(f"{name} has {nbytes} bytes, which is no whole number of {spelled}")
        return DeviceArray(self._device, address, (nbytes // held.itemsize,), held, owner=module, dtype_name=spelled)

    def listing(self) -> tuple[str, ...]:
        """What there is to ask for: plain kernels, then templates with their parameters."""
        plain = dict.fromkeys(source_name(lowered) or lowered for lowered in self._units[None].kernels)
        templates = [signature for signature in self._source.signatures.values() if signature.template]
        return (*plain, *(f"{template.name}<{', '.join(template.template)}>" for template in templates))

    def _locate(self, name: str) -> tuple[str | None, str]:
        """The unit that holds `name`, compiled when it is a new template instance, and the PTX name in it."""
        if name in self._names:
            lowered = self._names[name]
            if lowered is None:
                raise UnknownName(
                    f"{name!r} has several overloads in {self._source.filename}: ask by their PTX names, "
                    f"{', '.join(self._overloads(name))}"
                )
            return None, lowered
        if not self._instance(name):
            raise self._unknown(name, split_expression(name)[0])
        unit = self._source.unit(self._device.properties.arch, name)
        assert unit.lowered is not None
        if name not in self._units:
            self._units[name] = self._load(unit)
            self._types |= unit.types
        return name, unit.lowered

    def _instance(self, name: str) -> bool:
        """True for a name expression of what may be a template here."""
        base, arguments = split_expression(name)
        return name not in self._names and arguments is not None and self._could_be_template(base)

    def _could_be_template(self, base: str) -> bool:
        signature = self._source.signatures.get(base)
        if signature is not None:
            return bool(signature.template)
        # The tokenizer does not see through macros: a name that the source spells is left to the compiler.
        spells = getattr(self._source, "spells", None)  # of several files, any may
        return bool(spells(base)) if spells else base in re.findall(r"\w+", self._source.text or "")

    def _in_a_namespace(self, name: str) -> KernelSignature | None:
        """The signature of a kernel declared extern "C" in a namespace, whose PTX name does not have that."""
        signatures = [signature for full, signature in self._source.signatures.items() if full.endswith(f"::{name}")]
        return signatures[0] if len(signatures) == 1 else None

    def _overloads(self, name: str) -> list[str]:
        return sorted(lowered for lowered in self._units[None].kernels if source_name(lowered) == name)

    def _unknown(self, name: str, base: str) -> UnknownName:
        where, signature = self._source.filename, self._source.signatures.get(base)
        if signature is not None and signature.template:
            spelled = ", ".join(signature.template)
            return UnknownName(
                f"{name} in {where} is a template over <{spelled}>: name its arguments, as in {_example(signature)}"
            )
        if base != name and base in self._names:
            return UnknownName(f'{base} in {where} is no template: ask for module["{base}"]')
        listing = self.listing()
        full_names = {full_name.partition("<")[0]: full_name for full_name in listing}
        near = difflib.get_close_matches(base, full_names, n=1)
        hint = f"; did you mean {full_names[near[0]]!r}?" if near else "."
        return UnknownName(f"{where} has no kernel {name!r}{hint} It has: {', '.join(listing) or 'no kernels'}")

    def _load(self, unit: CompiledUnit) -> DeviceModule:
        if unit.pieces:
            return self._device.link(unit.pieces)
        return self._device.load(unit.ptx, source=self._source.text, filename=self._source.filename)


def _refuse_a_path(source: object, function: str) -> None:
    """ValueError for a text that names a file: the text would be compiled, and not what is in the file."""
    if isinstance(source, str) and _PATH.fullmatch(source.strip()):
        raise ValueError(f'gs.{function} takes the source itself; for the file write gs.{function}(Path("{source}"))')


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8-sig", errors="replace")


def _example(signature: KernelSignature) -> str:
    arguments = (
        "16" if parameter.startswith(("int", "unsigned", "size_t")) else "float" for parameter in signature.template
    )
    return f'module["{signature.name}<{", ".join(arguments)}>"]'


def _by_source_name(lowered_names: Iterable[str]) -> dict[str, str | None]:
    """PTX names by themselves and by source name; None for a source name that several have."""
    names: dict[str, str | None] = {}
    for lowered in lowered_names:
        name = source_name(lowered)
        if name is not None and name != lowered:
            names[name] = None if name in names else lowered
        names[lowered] = lowered
    return names
