"""Times every rung of the ladders, the ops that ship, and the framework's kernels, in turn, on a physical GPU.

    python bench/ops_h200.py [--out FOLDER] [--cap SECONDS] [--budget SECONDS] [--set RUNG;NAME=VALUE;…]… [OP…]

Shapes, references and goals stand in bench/op_cases.py. Random data, drawn on the GPU; every result is held against
float64 computed there, after its memory was poisoned. Variants take turns in rounds, events around each batch, medians;
a kernel that only waits runs ahead of a batch, so that Python has lined it up by then.
L2 is cold: calls rotate among sets of inputs and outputs that together exceed the cache three times. What takes less
than 0.1 ms is replayed from a CUDA graph, so that `ms` is the device's time; `call_ms` is then that of calls in a row
from Python. "copy" is a copy of 2 GiB in the same rounds, its rate the unit of `of_copy`.

`--set "matmul_half/09_async_store;STAGES=3"` also times that rung with another value of its `constexpr int STAGES` or
its `#define`; `grid=…`, `block=…` and `shared=…` change its launch.

Each op runs in a process of its own with a time cap, the next ones getting ready meanwhile. One that dies is run again
without the variant it died in. Writes ops_<chip>.json after every op; what it holds of ops not asked for stays.
`--markdown FILE` shows such a file as tables.
"""

from __future__ import annotations

import argparse
import functools
import json
import math
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))

import torch
from common import BENCH, RESULTS, need_gpu, save
from op_cases import OPS, WIDE, Call, Case, Cub, Goal, Op, Values
from torch import Tensor

import gridstride as gs
from gridstride.judge.find import find
from gridstride.judge.header import KEYS, KernelFile, parse_kernel
from gridstride.judge.problem import Parameter, Problem
from gridstride.kernels.torch_op import RungLauncher, multiprocessors
from gridstride.protocol import Shape

ROUNDS, SLOW_ROUNDS = 11, 3
BATCH_MS, SLOW_MS = 3.0, 60.0  # device time of a batch; a call that takes longer gets fewer rounds
L2_TIMES = 3
MOST_SETS = 256
GRAPH_MS = 0.1  # below it, calls are replayed from a graph
COPY_BYTES = 2 << 30  # read and written by the unit copy
COPY_FROM = 256 << 20  # bytes of a case from which its rate is given in proportion to the copy
STATISTICS = ("mean", "rstd", "partial", "lse", "delta", "dq", "scale_a", "scale_b")  # in float32 beside halves
FLOATS = ("float16", "float32")  # which cases may narrow
TOLERANCE = {"float32": 1e-4, "tf32": 1e-3, "float16": 2e-3, "bfloat16": 1.2e-2}
CYCLES_PER_MS = 1_900_000
HOST_MS = 0.15  # most that a call takes Python
AHEAD = 4  # ops that get ready while one is timed
RETRIES = 2


@dataclass(slots=True)
class Variant:
    """One thing that is timed: a rung, an op, a peer, the unit copy."""

    name: str
    kind: str
    call: Call
    error: float = math.nan
    call_ms: float = math.nan
    graph: torch.cuda.CUDAGraph | None = None
    calls: int = 1  # in a batch
    laps: list[float] = field(default_factory=list)


class Later:
    """A call that is made when it is first wanted: compiling may fail."""

    def __init__(self, make: Callable[[], Call]) -> None:
        self._make = functools.cache(make)

    def __call__(self, values: Values) -> object:
        return self._make()(values)


def work_of(problem: Problem, case: Case) -> tuple[int, int]:
    """Operations and bytes: a causal mask halves the first, other floats than the problem's own change the second, and
    another width of heads both.
    """
    flops, moved = problem.work(case.sizes)
    if case.width:
        own = own_width(problem)
        flops, moved = flops * case.width // own, moved * case.width // own
    if case.dtype:
        moved = moved * getattr(torch, case.dtype).itemsize // getattr(torch, own_dtype(problem)).itemsize
    return flops // (2 if case.numbers.get("past") == 0 else 1), moved


# -- one case ----------------------------------------------------------------------------------------------------------
def dtype_of(parameter: Parameter, case: Case) -> torch.dtype:
    """The case's float type where it has one: statistics in float32 beside halves stay as they are."""
    return getattr(torch, case.dtype if case.dtype and narrows(parameter) else parameter.dtype)


def narrows(parameter: Parameter) -> bool:
    return parameter.dtype in FLOATS and parameter.name not in STATISTICS


def own_width(problem: Problem) -> int:
    """Of a head, where arrays end in one: the number that is their last extent."""
    return int(next(p.shape[-1] for p in problem.parameters if p.shape and p.shape[-1].isdigit()))


def shape_of(problem: Problem, parameter: Parameter, case: Case) -> tuple[int, ...]:
    """With the case's width of heads where it has one."""
    shape = problem.shape(parameter, case.sizes)
    return (*shape[:-1], case.width) if case.width and parameter.shape[-1].isdigit() else shape


def drawn(op: Op, problem: Problem, case: Case, device: str = "cuda") -> Values:
    """Random values of every parameter: tensors on the device, sizes and other numbers as Python's."""
    values: Values = {}
    for p in problem.parameters:
        if not p.shape and p.role == "scalar":
            values[p.name] = case.sizes.get(p.name, case.numbers.get(p.name))
            continue
        shape, dtype = shape_of(problem, p, case), dtype_of(p, case)
        if dtype.is_floating_point:
            values[p.name] = torch.randn(shape, device=device, dtype=dtype)
        elif dtype == torch.uint32:  # of which PyTorch draws none
            values[p.name] = torch.randint(-(1 << 31), 1 << 31, shape, device=device, dtype=torch.int32).view(dtype)
        else:
            values[p.name] = torch.randint(0, 256, shape, device=device, dtype=dtype)
    op.draw(values)
    return values


def changed(file: KernelFile, settings: list[str]) -> KernelFile:
    """The rung with constants, or its launch, as "STAGES=3" or "grid=n" say; ValueError for one that it has not."""
    source = file.source
    for setting in settings:
        name, value = setting.split("=", 1)
        launch, constant = rf"(// {name}: ).*", rf"(constexpr int (?:\w+ = \w+, )*{name} = |#define {name} )\w+"
        new = rf"\g<1>{value}"
        source, count = re.subn(launch if name in KEYS else constant, new, source, count=1)
        if not count:
            raise ValueError(f"{file.name} has no {name}")
    named = parse_kernel(source, filename=file.filename)
    return replace(named, name=" ".join((file.name, *settings)))


@functools.cache
def compiled(source: str, entry: str, filename: str, macros: tuple[str, ...]) -> RungLauncher:
    """A rung on the current GPU."""
    with gs.use(gs.PhysicalGPU(torch.cuda.current_device())):
        return RungLauncher(gs.cuda(source, macros, filename=filename)[entry].bound())


def rung_call(op: Op, problem: Problem, file: KernelFile, case: Case, device: torch.device) -> Call:
    """A launch of one rung as its header says, with more shared memory for wide heads."""
    assert file.launch is not None
    assert file.entry is not None
    macros = ["-DBFLOAT16=1"] * (case.dtype == "bfloat16") + [f"-DHEAD_WIDTH={case.width}"] * bool(case.width)
    run = compiled(file.source, file.entry, file.filename, tuple(macros))
    found = file.launch.shape({**case.sizes, "SMS": multiprocessors(device)})
    shared = op.wide[file.name] if case.width == WIDE else found.shared
    shape = Shape(found.grid, found.block, shared, cooperative=file.launch.cooperative)

    def call(v: Values) -> None:
        run.launch(shape, tuple(v[p.name] for p in problem.parameters))

    return call


def all_rungs(name: str, settings: list[str]) -> list[KernelFile]:
    """The ladder's rungs, each followed by those that differ in a setting."""
    rungs = []
    for file in find(name).rungs():
        own = [words[1:] for words in (s.split(";") for s in settings) if words[0] == f"{name}/{file.name}"]
        rungs += [file, *(changed(file, words) for words in own)]
    return rungs


def runs(file: KernelFile, op: Op, problem: Problem, case: Case) -> bool:
    """Whether the rung takes the case's floats and heads, and ends within the time there is."""
    if case.width == WIDE and file.name not in op.wide:
        return False
    own = {p.dtype for p in problem.parameters if p.shape}
    fits = not case.dtype or case.dtype in own or (case.dtype == "bfloat16" and "ifndef BFLOAT16" in file.source)
    return fits and (case.slow or file.name not in op.slow)


def candidates(
    op: Op, problem: Problem, case: Case, files: list[KernelFile], device: torch.device, without: list[str]
) -> Iterator[Variant]:
    """Everything to time."""
    large = work_of(problem, case)[1] >= COPY_FROM
    for file in files:
        if runs(file, op, problem, case) and file.name not in without:
            yield Variant(file.name, "rung", Later(functools.partial(rung_call, op, problem, file, case, device)))
    kinds: dict[str, Mapping[str, Call]] = {"op": op.shipped, "peer": op.peers}
    if large:
        kinds["peer"] = {**op.peers, **{name: torch.compile(call, dynamic=False) for name, call in op.compiled.items()}}
    for kind, calls in kinds.items():
        yield from (Variant(name, kind, call) for name, call in calls.items() if name not in without)


def relative_error(found: Tensor, expected: Tensor) -> float:
    """‖found - expected‖ / ‖expected‖ in float64."""
    expected = expected.double().reshape(-1)
    return float(torch.linalg.vector_norm(found.reshape(-1).double() - expected) / torch.linalg.vector_norm(expected))


def output_of(problem: Problem) -> str:
    """The output that is held against float64: the first that is only written, else the first."""
    return next((p.name for p in problem.parameters if p.role == "out"), problem.outputs[0].name)


def checked(variant: Variant, op: Op, problem: Problem, values: Values, expected: Tensor | None) -> float:
    """The error of one call on these values, whose outputs hold NaN or 255 before it."""
    for p in problem.parameters:
        if p.role == "out":
            values[p.name].fill_(math.nan if values[p.name].is_floating_point() else 255)
    result, output = variant.call(values), values[output_of(problem)]
    if output.is_cuda:
        torch.cuda.synchronize()
    found = result if isinstance(result, Tensor) else output
    error = relative_error(found, expected) if expected is not None else float("nan")
    if op.error is not None:
        error = op.error(values, found.view_as(output))
    return error


def tolerance(problem: Problem, case: Case, kind: str) -> float:
    """By the case's floats, or tf32; whole numbers are exact, but for peers, which round where a bin begins."""
    written = next(p.dtype for p in problem.parameters if p.name == output_of(problem))
    if problem.products == "tf32":
        return TOLERANCE["tf32"]
    return TOLERANCE[case.dtype or written] if written in TOLERANCE else 1e-4 if kind == "peer" else 0.0


def timed(call: Callable[[], object], ahead_ms: float = 0.0) -> float:
    """Milliseconds on the device from before `call` to its end; it waits for so long before it begins."""
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    torch.cuda._sleep(int(ahead_ms * CYCLES_PER_MS))
    begin.record()
    call()
    end.record()
    end.synchronize()
    return float(begin.elapsed_time(end))


def prepare(variant: Variant, sets: list[Values]) -> None:
    """Find out how many calls a batch needs, and put short ones into a graph."""
    one = min(timed(lambda: variant.call(sets[0])) for _ in range(2))
    if one > SLOW_MS:
        variant.call_ms = one
        return
    rounds = max(1, round(BATCH_MS / max(one, 0.01) / len(sets)))  # each goes through all sets once
    variant.calls = rounds * len(sets)

    def batch() -> None:
        for number in range(variant.calls):
            variant.call(sets[number % len(sets)])

    batch()
    variant.call_ms = min(timed(batch) for _ in range(2)) / variant.calls
    if variant.call_ms < GRAPH_MS:
        variant.graph = captured(batch)


def captured(batch: Callable[[], None]) -> torch.cuda.CUDAGraph | None:
    """The batch as a graph; None for what cannot be captured, such as a library that waits for the device."""
    graph = torch.cuda.CUDAGraph()
    torch.cuda.synchronize()
    try:
        with torch.cuda.graph(graph):
            batch()
        graph.replay()
        torch.cuda.synchronize()
    except RuntimeError:
        torch.cuda.synchronize()
        return None
    return graph


def lap(variant: Variant, sets: list[Values], start: int) -> float:
    """One batch's milliseconds per call."""
    if variant.graph is not None:
        return timed(variant.graph.replay, HOST_MS) / variant.calls

    def batch() -> None:
        for number in range(variant.calls):
            variant.call(sets[(start + number) % len(sets)])

    return timed(batch, HOST_MS * variant.calls) / variant.calls


def in_turn(variants: list[Variant], sets: list[Values]) -> None:
    """All variants' laps, in rounds; slow ones sit the later rounds out."""
    for number in range(ROUNDS):
        for variant in variants:
            if number < SLOW_ROUNDS or variant.call_ms <= SLOW_MS:
                variant.laps.append(lap(variant, sets, number))


def unit_copy() -> Variant:
    """The copy whose rate is the unit of memory-bound work."""
    source = torch.randn(COPY_BYTES // 8, device="cuda")
    target = torch.empty_like(source)
    return Variant("copy", "copy", lambda v: target.copy_(source))


def measured(
    op: Op,
    problem: Problem,
    case: Case,
    files: list[KernelFile],
    without: list[str],
    emit: Callable[[dict[str, Any]], None],
) -> dict[str, Any]:
    """One case as it goes into the file."""
    flops, moved = work_of(problem, case)
    device = torch.device("cuda", torch.cuda.current_device())
    cache = torch.cuda.get_device_properties(device).L2_cache_size
    count = min(MOST_SETS, math.ceil(L2_TIMES * cache / moved)) if moved < L2_TIMES * cache else 1
    sets = [drawn(op, problem, case) for _ in range(count)]
    first = None if op.reference is None else next(iter(op.reference(sets[0]).values()))
    given = {p.name: sets[0][p.name].clone() for p in problem.parameters if p.role == "inout"}
    variants, failed = [], []
    for variant in candidates(op, problem, case, files, device, without):
        emit({"trying": variant.name})
        for name, held in given.items():
            sets[0][name].copy_(held)  # those before have been timed on it
        try:
            variant.error = checked(variant, op, problem, sets[0], first)
            if not variant.error <= (most := tolerance(problem, case, variant.kind)):
                raise ValueError(f"wrong: error {variant.error:.3g}, tolerated {most:.3g}")
            prepare(variant, sets)
        except Exception as refused:  # whatever it is, the others are timed all the same
            failed.append({"variant": variant.name, "kind": variant.kind, "why": one_line(refused)})
            torch.cuda.synchronize()  # raises where the context is lost: the parent goes on without this variant
            continue
        variants.append(variant)
    del first
    if op.bound == "memory" and moved >= COPY_FROM:
        copy = unit_copy()
        prepare(copy, [{}])
        variants.append(copy)
    in_turn(variants, sets)
    entry = {"case": str(case), "sizes": dict(case.sizes), "dtype": case.dtype or own_dtype(problem), "sets": count}
    rows = [row(variant, flops, moved) for variant in variants]
    return {**entry, "flops": flops, "bytes": moved, **judged(op.goals, case, rows), "failed": failed}


def own_dtype(problem: Problem) -> str:
    """Of the arrays that a case's dtype narrows; of the first array where it narrows none."""
    arrays = [p for p in problem.parameters if p.shape]
    return next((p.dtype for p in arrays if narrows(p)), arrays[0].dtype)


def one_line(error: Exception) -> str:
    return f"{type(error).__name__}: {(str(error).strip().splitlines() or [''])[0][:160]}"


def row(variant: Variant, flops: int, moved: int) -> dict[str, Any]:
    """A variant's figures."""
    ms = statistics.median(variant.laps)
    moved = COPY_BYTES if variant.kind == "copy" else moved
    quartiles = statistics.quantiles(variant.laps, n=4)
    return {
        "variant": variant.name,
        "kind": variant.kind,
        "ms": ms,
        "spread_ms": (quartiles[2] - quartiles[0]) / 2,
        "rounds": len(variant.laps),
        "tbps": moved / ms / 1e9,
        "tflops": 0.0 if variant.kind == "copy" else flops / ms / 1e9,
        "graph": variant.graph is not None,
        "call_ms": variant.call_ms,
        "error": None if variant.kind == "copy" else variant.error,
    }


def judged(goals: tuple[Goal, ...], case: Case, rows: list[dict[str, Any]]) -> dict[str, Any]:
    """The rows, with what they are of the copy, and how the best of ours stands to the goal."""
    copy = next((r["tbps"] for r in rows if r["kind"] == "copy"), None)
    for each in rows:
        each["of_copy"] = each["tbps"] / copy if copy else None
    mine = min((r for r in rows if r["kind"] in ("rung", "op")), key=lambda r: r["ms"], default=None)
    found: dict[str, Any] = {"variants": rows, "best": mine["variant"] if mine else None}
    for goal in goals:
        peer = next((r for r in rows if r["variant"] == goal.peer), None)
        if mine and peer and goal.dtype == case.dtype:
            reached = mine["of_copy"] if goal.peer == "copy" else peer["ms"] / mine["ms"]
            found["goal"] = {"peer": goal.peer, "ratio": goal.ratio, "reached": reached, "met": reached >= goal.ratio}
    return found


# -- one op in its own process -----------------------------------------------------------------------------------------
def work(name: str, settings: list[str], without: list[str], skip: int, cub: Path | None) -> int:
    """Get ready, wait for a line on stdin, and write a line of JSON for each case."""
    op, problem, files = OPS[name], find(name).problem, all_rungs(name, settings)
    torch.manual_seed(7)
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = False
    torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False
    torch.backends.cudnn.benchmark = True
    device = torch.device("cuda", torch.cuda.current_device())
    torch.zeros(1, device=device)
    for case in op.cases:
        for file in files:
            if runs(file, op, problem, case):
                ready(op, problem, file, case, device)
    sys.stdin.readline()
    Cub.path = cub

    def emit(line: dict[str, Any]) -> None:
        print(json.dumps(line), flush=True)

    for case in op.cases[skip:]:
        begun = time.monotonic()
        try:
            with torch.no_grad():
                entry = measured(op, problem, case, files, without, emit)
        except Exception as refused:
            torch.cuda.synchronize()
            entry = {"case": str(case), "variants": [], "failed": [{"variant": "the case", "why": one_line(refused)}]}
        emit({"entry": {**entry, "seconds": round(time.monotonic() - begun, 1)}})
        torch.cuda.empty_cache()
    return 0


def ready(op: Op, problem: Problem, file: KernelFile, case: Case, device: torch.device) -> None:
    """Compile a rung before the clock runs; what is wrong with it is said when it is tried."""
    try:
        rung_call(op, problem, file, case, device)
    except Exception as refused:
        print(one_line(refused), file=sys.stderr)


class Worker:
    """The process that times one op, from the case numbered `skip` on."""

    def __init__(self, name: str, settings: list[str], without: list[str], skip: int, cub: Path | None) -> None:
        self.name, self.settings, self.without, self.skip = name, settings, without, skip
        command = [sys.executable, __file__, "--worker", name, "--skip", str(skip)]
        command += [f"--set={setting}" for setting in settings]
        command += [word for variant in without for word in ("--without", variant)]
        command += ["--cub", str(cub)] if cub else []
        self._log = tempfile.TemporaryFile(mode="w+")  # noqa: SIM115 - read when the process has ended
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=self._log, text=True)

    def finish(self, cap: float) -> tuple[list[dict[str, Any]], str, str | None]:
        """Let it go: its entries, what went wrong or nothing, and which variant it was in then."""
        trouble = ""
        try:
            output, _ = self._process.communicate("go\n", timeout=cap)
        except subprocess.TimeoutExpired:
            self._process.kill()
            output, _ = self._process.communicate()
            trouble = f"over its cap of {cap:g} s"
        lines = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
        if self._process.returncode and not trouble:
            self._log.seek(0)
            trouble = (self._log.read().strip().splitlines() or ["died"])[-1][:200]
        entries = [line["entry"] for line in lines if "entry" in line]
        last = lines[-1].get("trying") if lines else None
        return entries, trouble, last

    def end(self) -> None:
        """For one that is not needed any more."""
        self._process.kill()
        self._process.communicate()


def all_of(worker: Worker, cap: float, cub: Path | None) -> tuple[list[dict[str, Any]], list[str]]:
    """An op's entries, by more than one process where one dies, and what went wrong on the way."""
    found: list[dict[str, Any]] = []
    troubles: list[str] = []
    for _ in range(RETRIES + 1):
        entries, trouble, last = worker.finish(cap)
        found += entries
        if not trouble:
            break
        troubles.append(f"{last or 'start'}: {trouble}")
        if last is None:
            break
        worker = Worker(worker.name, worker.settings, [*worker.without, last], worker.skip + len(entries), cub)
    else:
        worker.end()
    return found, troubles


# -- all of them -------------------------------------------------------------------------------------------------------
def compiled_cub() -> Path | None:
    """bench/peers/cub_peers.cu as a shared library; None, and a word on stderr, where that fails."""
    nvcc = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
    target = Path(tempfile.mkdtemp()) / "cub_peers.so"
    source = BENCH / "peers" / "cub_peers.cu"
    options = ["-O3", "-std=c++17", "-arch=sm_90", "--shared", "-Xcompiler", "-fPIC"]
    try:
        subprocess.run([nvcc, *options, "-o", str(target), str(source)], check=True, capture_output=True, text=True)
    except (OSError, subprocess.CalledProcessError) as failed:
        print(f"CUB is left out: {getattr(failed, 'stderr', '') or failed}"[:500], file=sys.stderr)
        return None
    return target


def table(name: str, entry: Mapping[str, Any]) -> str:
    """One case in a line or two: the goal, ours from the best on, the peers."""
    unit = "tflops" if OPS[name].bound == "arithmetic" else "of_copy"

    def word(r: Mapping[str, Any]) -> str:
        rate = r[unit] if r[unit] is not None else r["tbps"]
        suffix = {"tflops": "TF", "of_copy": "cp" if r["of_copy"] is not None else "TB"}[unit]
        return f"{r['variant']} {r['ms']:.4g} ({rate:.3g}{suffix})"

    rows = sorted((r for r in entry["variants"] if r["kind"] != "copy"), key=lambda r: r["ms"])
    mine = [r for r in rows if r["kind"] != "peer"]
    goal = entry.get("goal")
    met = (
        f"  {goal['reached']:.3f} of {goal['peer']}: {'met' if goal['met'] else 'BELOW'} {goal['ratio']}"
        if goal
        else ""
    )
    lines = [f"{name} {entry['case']}{met}", f"  {'; '.join(map(word, mine[:3]))} | "]
    lines[1] += "; ".join(word(r) for r in rows if r["kind"] == "peer")
    lines += [f"  FAILED {each['variant']}: {each['why'][:110]}" for each in entry["failed"]]
    return "\n".join(lines)


def markdown(name: str, entry: Mapping[str, Any]) -> str:
    """A case as the table that notes.md shows: every variant, its rate, and how it stands to the peers."""
    arithmetic = OPS[name].bound == "arithmetic"
    peers = [r for r in entry["variants"] if r["kind"] == "peer"]
    rate = "TFLOP/s" if arithmetic else "TB/s"
    heads = ["kernel", "ms", rate, *([] if arithmetic else ["of the copy"]), *(f"× {r['variant']}" for r in peers)]
    lines = [f"{name}, {entry['case']}, {entry['dtype']}:", "", f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for r in entry["variants"]:
        cells = [f"`{r['variant']}`", f"{r['ms']:.4g}", f"{r['tflops'] if arithmetic else r['tbps']:.3g}"]
        cells += [] if arithmetic else [f"{r['of_copy']:.3f}" if r["of_copy"] else ""]
        cells += [f"{peer['ms'] / r['ms']:.2f}" for peer in peers] if r["kind"] != "copy" else [""] * len(peers)
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def merged(path: Path, entry: dict[str, Any]) -> list[dict[str, Any]]:
    """The ops that the file at `path` holds, with this one in its place, or at the end."""
    held = json.loads(path.read_text())["ops"] if path.exists() else []
    return list(({each["op"]: each for each in held} | {entry["op"]: entry}).values())


def run(names: list[str], out: Path, *, cap: float, budget: float, settings: list[str], without: list[str]) -> bool:
    """Time these ops, one at a time, and save each; whether all went well."""
    begun, fine = time.monotonic(), True
    cub = compiled_cub() if any(isinstance(p, Cub) for n in names for p in OPS[n].peers.values()) else None
    waiting, workers = list(names), list[Worker]()
    gpu = torch.cuda.get_device_properties(0)
    chip = "h200" if "H200" in gpu.name else "h100" if "H100" in gpu.name else gpu.name.replace(" ", "_").lower()
    path = out / f"ops_{chip}.json"
    while waiting or workers:
        while waiting and len(workers) < AHEAD:
            workers.append(Worker(waiting.pop(0), settings, without, 0, cub))
        worker = workers.pop(0)
        left = budget - (time.monotonic() - begun)
        if left < 10:
            worker.end()
            print(f"{worker.name}: no time left", flush=True)
            fine = False
            continue
        cases, troubles = all_of(worker, min(cap, left), cub)
        for entry in cases:
            print(table(worker.name, entry), flush=True)
        for trouble in troubles:
            print(f"{worker.name}: TROUBLE {trouble}", flush=True)
        fine &= not troubles and not any(entry["failed"] for entry in cases)
        date = datetime.now(UTC).isoformat(timespec="seconds")
        op = {"op": worker.name, "date": date, "gpu": gpu.name, "troubles": troubles, "cases": cases}
        about = {"gpu": gpu.name, "torch": torch.__version__, "cuda": torch.version.cuda, "l2": "cold"}
        save(path.stem, {**about, "ops": merged(path, op)}, folder=out)
    print(f"{time.monotonic() - begun:.0f} s; {path}")
    return fine


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ops", nargs="*", metavar="OP", help=f"of {', '.join(OPS)}; all unless given")
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--cap", type=float, default=60.0, help="seconds that one op may take")
    parser.add_argument("--budget", type=float, default=280.0, help="seconds that all may take together")
    parser.add_argument("--set", action="append", default=[], metavar="RUNG;NAME=VALUE;…", help="may be repeated")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="show what this file holds of the ops as tables")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    parser.add_argument("--skip", type=int, default=0, help=argparse.SUPPRESS)
    parser.add_argument("--without", action="append", default=[], metavar="VARIANT", help="left out; may be repeated")
    parser.add_argument("--cub", type=Path, help=argparse.SUPPRESS)
    words = parser.parse_args()
    if unknown := sorted({*words.ops, *filter(None, [words.worker])} - OPS.keys()):
        parser.error(f"{unknown[0]} is none of {', '.join(OPS)}")
    if words.markdown:
        held = [each for each in json.loads(words.markdown.read_text())["ops"] if each["op"] in (words.ops or OPS)]
        print("\n".join(markdown(each["op"], case) for each in held for case in each["cases"]))
        return 0
    need_gpu("bench/ops_h200.py")
    os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")  # one kernel a graph: a pool of processes starts slower
    if words.worker:
        return work(words.worker, words.set, words.without, words.skip, words.cub)
    names, limits = words.ops or list(OPS), {"cap": words.cap, "budget": words.budget}
    return 0 if run(names, words.out, **limits, settings=words.set, without=words.without) else 1


if __name__ == "__main__":
    sys.exit(main())
