"""How many registers a kernel takes: ptxas says, where there is one; else an estimate from what is live in the PTX.

ptxas needs no GPU. It is found on the PATH, in the wheel nvidia-cuda-nvcc (`pip install gridstride[ptxas]`), or beside
Triton, which brings one; what it said is kept on disk.
"""

from __future__ import annotations

import functools
import importlib.util
import json
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from gridstride.compiler.cache import shared as shared_cache
from gridstride.virtual.ptx.flow import cfg, liveness
from gridstride.virtual.ptx.module import Function, PtxModule
from gridstride.virtual.ptx.types import TYPES

_TIME_LIMIT = 30.0  # seconds for ptxas; longer, and the estimate must do
_PLACES = (("nvidia", "cu13/bin/ptxas"), ("nvidia", "cuda_nvcc/bin/ptxas"), ("triton", "backends/nvidia/bin/ptxas"))
_USED = re.compile(r"Compiling entry function '([^']+)'.*?Used (\d+) registers", re.DOTALL)
_SPILLED = re.compile(r"Function properties for (\S+)\s+\d+ bytes stack frame, (\d+) bytes spill stores")
_OLDER = re.compile(r"Unsupported \.version [\d.]+; current version is '([\d.]+)'")
_LEAST, _MOST = 16, 255
_OVERHEAD = 8  # registers that addresses and loop counters of machine code take beyond the PTX, on the ladder's kernels


@dataclass(frozen=True, slots=True)
class Registers:
    """Registers per thread; `estimated` where no ptxas said so; `spilled` bytes per thread that did not fit."""

    count: int
    estimated: bool
    spilled: int = 0


@functools.cache
def ptxas() -> Path | None:
    """The program; None where there is none."""
    path = shutil.which("ptxas")
    if path:
        return Path(path)
    return next((path for path in _installed() if path.is_file()), None)


def _installed() -> Iterator[Path]:
    for package, inside in _PLACES:
        spec = importlib.util.find_spec(package)
        for folder in (spec.submodule_search_locations or ()) if spec else ():
            yield Path(folder) / inside


def registers_of(ptx: str | None, digest: str, parsed: Callable[[], PtxModule], entry: str, arch: str) -> Registers:
    """What the kernel `entry` of a text takes on `arch` ("sm_90"); estimated where there is no one text."""
    registers = _registers_by_kernel(ptx, digest, arch).get(entry) if ptx is not None else None
    if registers is not None:
        return registers
    return Registers(estimate(parsed().functions[entry]), estimated=True)


def _registers_by_kernel(ptx: str, digest: str, arch: str) -> dict[str, Registers]:
    """Of every kernel in the text what ptxas said, now or before; nothing where it is not there or refuses."""
    program = ptxas()
    if program is None:
        return {}
    own = re.search(r"^\s*\.target\s+(sm_\d+[af]?)", ptx, re.MULTILINE)
    target = own[1] if own and own[1][-1] in "af" else arch
    cache, key = shared_cache("registers"), f"{program}/{program.stat().st_mtime_ns}/{digest}/{target}"
    stored = cache.get(key)
    if stored is not None:
        return {name: Registers(**fields) for name, fields in json.loads(stored).items()}
    by_entry = parse(_run(program, ptx, target))
    cache.put(key, json.dumps({name: asdict(registers) for name, registers in by_entry.items()}).encode())
    return by_entry


def _run(program: Path, ptx: str, arch: str) -> str:
    """What `ptxas -v` prints; a text of a later PTX version than it knows is given to it as one of its own."""
    output, refused = _ptxas_output(program, ptx, arch)
    older = _OLDER.search(refused)
    if older:
        output, _ = _ptxas_output(
            program, re.sub(r"^(\s*\.version\s+)[\d.]+", rf"\g<1>{older[1]}", ptx, count=1, flags=re.M), arch
        )
    return output


def _ptxas_output(program: Path, ptx: str, arch: str) -> tuple[str, str]:
    """(what it said, why it refused): one of them is empty."""
    try:
        folder = Path(tempfile.mkdtemp(prefix="gridstride-"))
    except OSError:
        return "", ""
    try:
        text = folder / "kernel.ptx"
        text.write_text(ptx)
        command = [str(program), "-v", f"-arch={arch}", "-o", str(folder / "kernel.cubin"), str(text)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=_TIME_LIMIT)
    except (OSError, subprocess.TimeoutExpired):  # a locked process starts no other
        return "", ""
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    output = done.stderr + done.stdout
    return (output, "") if done.returncode == 0 else ("", output)


def parse(output: str) -> dict[str, Registers]:
    """The figures in what `ptxas -v` prints."""
    spilled = {name: int(count) for name, count in _SPILLED.findall(output)}
    return {name: Registers(int(count), False, spilled.get(name, 0)) for name, count in _USED.findall(output)}


def estimate(function: Function) -> int:
    """The most 32-bit registers that are live at once, and some more: what launch bounds allow at most."""
    graph = cfg.build(function)
    live = liveness.analyse(graph)
    width = {name: _words(function.registers.get(name, "b32")) for name in live.names}
    most = max(
        (sum(width[r] for r in live.registers(bits)) for b in graph.blocks for _, bits in live.after(b)), default=0
    )
    return min(max(most + _OVERHEAD, _LEAST), _allowed(function))


def _words(ptx_type: str) -> int:
    return 0 if ptx_type == "pred" else -(-TYPES[ptx_type].bits // 32)


def _allowed(function: Function) -> int:
    limit = function.directives.get("maxnreg")
    threads = function.directives.get("reqntid") or function.directives.get("maxntid")
    most = limit[0] if limit else _MOST
    if threads:
        blocks = (function.directives.get("minnctapersm") or (1,))[0]
        product = 1
        for axis in threads:
            product *= axis
        most = min(most, max(_LEAST, 65536 // (-(-product // 32) * 32 * max(blocks, 1)) // 8 * 8))
    return min(most, _MOST)
