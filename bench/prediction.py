"""Predicted times against measured ones: kernels with one limiter, and all rungs of the ladders at several sizes.

python bench/prediction.py measure FILE [--seconds S]     # on a machine with a GPU: times, registers, occupancy
python bench/prediction.py fit                            # the constants that fit one half best
python bench/prediction.py                                # predicts all, compares, writes results/prediction_h200.json
python bench/prediction.py blind                          # predicts kernels never timed: results/prediction_blind.json
python bench/prediction.py blind-measure FILE             # times those on a GPU
python bench/prediction.py blind-compare FILE             # what was predicted against what was measured
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import sys
import time
import zlib
from dataclasses import replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))
sys.path.insert(0, str(Path(__file__).resolve().parent))

from blind_set import blind
from common import RESULTS, save
from kernel_set import LARGE, Case, fresh, ladder, limited, module

import gridstride as gs
from gridstride.judge.find import find
from gridstride.virtual.observe.predict import predict

BLIND = RESULTS / "prediction_blind.json"
"""What was predicted for the kernels of `fresh` before any of them was timed; the model has been mended since."""

COLD = 3 * 60 << 20
"""Bytes that rotated buffer sets hold together, so that every launch finds a cold L2."""


def measure(out: Path, seconds: float, ladders: bool = True) -> int:
    """Times everything until the time is used up."""
    end = time.monotonic() + seconds
    device = gs.device()
    found: dict[str, Any] = {"gpu": device.name, "limited": {}, "fresh": {}, "ladders": {}}

    def save() -> None:
        out.write_text(json.dumps(found, indent=1))

    for one in limited():
        if time.monotonic() < end:
            try:
                sets = [one.arguments(one.grid, one.rounds)]
                found["limited"][one.name] = timed(one.kernel, one.grid, one.block, 0, sets)
                print(one.name, found["limited"][one.name], flush=True)
            except Exception as error:
                print("failed", one.name, repr(error)[:300], flush=True)
            del sets
    save()
    for sized in fresh():
        case = sized.make(sized.large)
        try:
            found["fresh"][sized.name] = timed(case.kernel(), case.grid, case.block, case.shared, _sets(case)[:2])
            print(sized.name, found["fresh"][sized.name], flush=True)
        except Exception as error:
            print("failed", sized.name, repr(error)[:300], flush=True)
    save()
    for problem in LARGE if ladders else ():
        for sizes in LARGE[problem]:
            buffers: list[tuple[Any, ...]] | None = None
            for case in ladder(problem, sizes):
                if time.monotonic() > end:
                    continue
                try:
                    buffers = buffers or _sets(case)
                    found["ladders"][case.name] = timed(case.kernel(), case.grid, case.block, case.shared, buffers)
                    print(case.name, found["ladders"][case.name], flush=True)
                except Exception as error:
                    print("failed", case.name, repr(error)[:300], flush=True)
            save()
    return 0


def _sets(case: Case) -> list[tuple[Any, ...]]:
    first = case.arguments()
    size = sum(a.nbytes for a in first if hasattr(a, "nbytes"))
    count = min(64, max(2, -(-COLD // max(size, 1))))
    return [first] + [tuple(_copied(a) for a in first) for _ in range(count - 1)]


def _copied(value: Any) -> Any:
    if not hasattr(value, "nbytes"):
        return value
    return gs.to_device(value.numpy())


def timed(kernel: Any, grid: Any, block: Any, shared: int, sets: list[tuple[Any, ...]]) -> dict[str, Any]:
    """Milliseconds per launch when launches follow each other without a gap, and what the driver says of the kernel."""
    device = gs.device()
    hold = module("limited.cu")["hold"]
    loaded = _loaded(kernel, device)

    def batch(count: int) -> float:
        start, stop = device.event(), device.event()
        hold[1, 1](int(2000 * (60 + 25 * count)))
        start.record()
        for i in range(count):
            arguments = sets[i % len(sets)]
            if block is None:
                kernel.launch(grid=grid, args=arguments)
            else:
                kernel[grid, block, shared](*arguments)
        stop.record()
        return stop.elapsed_ms(start) / count

    batch(len(sets) if len(sets) < 9 else 2)
    once = batch(2)
    count = max(1, min(40, int(3.0 / max(once, 1e-3))))
    times = [batch(count) for _ in range(5 if once < 50 else 2)]
    found: dict[str, Any] = {"ms": statistics.median(times), "least": min(times)}
    if loaded is not None and block is not None:
        threads = block if isinstance(block, int) else block[0] * (block[1] if len(block) > 1 else 1)
        found |= {"registers": loaded.registers, "local": loaded.local_bytes, "static_shared": loaded.static_shared,
                  "threads": threads, "blocks_per_sm": _most_blocks(loaded, threads, shared)}  # fmt: skip
    return found


def _loaded(kernel: Any, device: Any) -> Any:
    """The device's own kernel behind one of ours."""
    if hasattr(kernel, "_module") and hasattr(kernel._module, "on"):
        return kernel._module.on(device).bound(kernel.name).kernel
    return None


def _most_blocks(loaded: Any, threads: int, shared: int) -> int:
    from gridstride.device.physical.driver import bindings, check

    device = gs.device()
    assert isinstance(device, gs.PhysicalGPU)
    with device.current():
        answer = bindings().cuOccupancyMaxActiveBlocksPerMultiprocessor(loaded._function, threads, shared)
    return int(check(answer, "occupancy"))


# -- counting ---------------------------------------------------------------------------------------------------------
FEW = 4  # blocks that a kernel with one limiter is counted with


def counted(sizes_too: bool = True) -> dict[str, tuple[Any, Any, Any]]:
    """(model, grid, counters at the timed size) of every kernel, from small runs on the virtual GPU."""
    found: dict[str, tuple[Any, Any, Any]] = {}
    for one in limited():
        found[one.name] = counted_limited(one)
    for sized in fresh():
        found[sized.name] = _fresh(sized)
    for problem in LARGE if sizes_too else ():
        found.update(_ladder(problem))
    return found


def _fresh(sized: Any) -> tuple[Any, Any, Any]:
    small, large = sized.make(sized.small), sized.make(sized.large)
    run = small.launch(observe=True)
    grid = large.grid if isinstance(large.grid, tuple) else (large.grid, 1, 1)
    grid = (*grid, 1, 1)[:3]
    factor = sized.inner * math.prod(grid) / math.prod(run.grid)
    return run.model, grid, run.counters.scaled(factor)


def counted_limited(one: Any) -> tuple[Any, Any, Any]:
    blocks = min(FEW, one.grid)
    few, more = (one.kernel.observe(blocks, one.block)(*one.arguments(blocks, n)) for n in one.few)
    rounds = (one.rounds - one.few[0]) / (one.few[1] - one.few[0])
    counters = few.counters.scaled(1 - rounds)
    counters.add(more.counters.scaled(rounds))
    counters.chain = tuple(a + (b - a) * rounds for a, b in zip(few.counters.chain, more.counters.chain, strict=True))
    read, written = (
        (1 - rounds) * getattr(few.counters, n) + rounds * getattr(more.counters, n)
        for n in ("read_bytes", "written_bytes")
    )
    factor = one.grid / blocks
    read, written = read * factor, written * factor
    if one.fixed:
        read, written = min(read, one.fixed), min(written, one.fixed)
    grown = counters.scaled(factor)
    grown.read_bytes, grown.written_bytes = round(read), round(written)
    return few.model, (one.grid, 1, 1), grown


def _ladder(problem: str) -> dict[str, tuple[Any, Any, Any]]:
    spec = find(problem).problem
    found = {}
    for small, *large in zip(
        ladder(problem, spec.observed), *(ladder(problem, sizes) for sizes in LARGE[problem]), strict=True
    ):
        run = small.launch(observe=True)
        for case, sizes in zip(large, LARGE[problem], strict=True):
            work, little = spec.work(sizes), spec.work(spec.observed)
            factor = max(a / b for a, b in zip(work, little, strict=True) if b)
            grid = case.grid if isinstance(case.grid, tuple) else (case.grid, 1, 1)
            found[case.name] = run.model, grid, run.counters.scaled(factor, work[1])
    return found


# -- comparing --------------------------------------------------------------------------------------------------------
def compare(times: Path, *, write: bool = True) -> int:
    measured = json.loads(times.read_text())
    all_times = {**measured["limited"], **measured.get("fresh", {}), **measured["ladders"]}
    right = {one.name: one.limiter for one in limited()}
    rows = []
    for name, (model, grid, counters) in counted().items():
        if name not in all_times:
            continue
        prediction = model.at(grid, counters)
        ms = all_times[name]["ms"]
        rows.append(
            {
                "kernel": name,
                "held_out": held_out(name),
                "measured_ms": ms,
                "predicted_ms": prediction.ms,
                "error": prediction.ms / ms - 1,
                "limiter": prediction.limiter,
                "limiter_right": prediction.limiter in right[name] if name in right else None,
                "registers": model.registers.count,
                "registers_measured": all_times[name].get("registers"),
                "parts": dict(list(prediction.parts.items())[:4]),
            }
        )
        print(_line(rows[-1], right.get(name)))
    summary = summarise(rows)
    if BLIND.exists():
        blind = json.loads(BLIND.read_text())["kernels"]
        errors = [abs(ms / all_times[name]["ms"] - 1) for name, ms in blind.items()]
        summary["blind"] = {"kernels": len(errors), "mean_absolute_error": statistics.mean(errors),
                            "median": statistics.median(errors)}  # fmt: skip
    print(json.dumps(summary, indent=1))
    if write:
        save("prediction_h200", {"gpu": measured["gpu"], "summary": summary, "kernels": rows})
    return 0


FREE = {"sharpness": (1.2, 4.0), "cold_us": (0.5, 2.0), "barrier_clocks": (1.0, 4.0), "divergence_clocks": (10, 120)}
"""Constants that no single kernel measures, and the range they are looked for in."""


def _line(row: dict[str, Any], right: tuple[str, ...] | None) -> str:
    wrong = "" if row["limiter_right"] is not False else f"NOT {'|'.join(right or ())} "
    parts = ", ".join(f"{name} {ms:.4f}" for name, ms in row["parts"].items())
    figures = f"{row['measured_ms']:9.4f} {row['predicted_ms']:9.4f} {100 * row['error']:+6.0f} %"
    return f"{row['kernel']:34} {figures} {row['limiter']:18} {wrong}{parts}"


def fit(times: Path) -> int:
    """Looks for the constants that give the half that is not held out the least mean absolute error."""
    measured = json.loads(times.read_text())
    all_times = {**measured["limited"], **measured.get("fresh", {}), **measured["ladders"]}
    known = [
        (each, all_times[name]["ms"]) for name, each in counted().items() if name in all_times and not held_out(name)
    ]

    def error(constants: dict[str, float]) -> float:
        def ms(model: Any, grid: Any, counters: Any) -> float:
            chip = replace(model.chip, prediction={**model.chip.prediction, **constants})
            return float(predict(counters, model._shape(grid), chip).ms)

        return float(statistics.mean(abs(ms(*each) / time_ - 1) for each, time_ in known))

    best = {name: known[0][0][0].chip.prediction[name] for name in FREE}
    for _ in range(3):
        for name, (low, high) in FREE.items():
            tried = [low * (high / low) ** (i / 24) for i in range(25)]
            best[name] = min(tried, key=lambda value: error({**best, name: value}))
        print({name: round(value, 3) for name, value in best.items()}, round(error(best), 4), flush=True)
    return 0


def held_out(name: str) -> bool:
    """Whether a kernel is in the half that no constant was fitted to."""
    return zlib.crc32(name.encode()) % 2 == 1


def summarise(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Mean absolute errors, and how often the limiter was right."""

    def mean(chosen: list[dict[str, Any]]) -> float | None:
        return statistics.mean(abs(r["error"]) for r in chosen) if chosen else None

    groups = {
        "one limiter": [r for r in rows if "/" not in r["kernel"]],
        "ladders": [r for r in rows if "/" in r["kernel"]],
    }
    found: dict[str, Any] = {}
    for name, chosen in {**groups, "all": rows}.items():
        held = [r for r in chosen if r["held_out"]]
        found[name] = {
            "kernels": len(chosen),
            "mean_absolute_error": mean(chosen),
            "held_out": mean(held),
            "median": statistics.median(abs(r["error"]) for r in chosen) if chosen else None,
        }
    named = [r["limiter_right"] for r in rows if r["limiter_right"] is not None]
    return {**found, "limiter_right": f"{sum(named)} of {len(named)}"}


# -- blind ------------------------------------------------------------------------------------------------------------
def predict_blind() -> int:
    """Writes what is predicted for kernels that were never timed, beside what was said of earlier ones."""
    recorded = json.loads(BLIND.read_text())
    said: dict[str, Any] = recorded.get("second", {}).get("kernels", {})
    for sized in blind():
        if "measured_ms" in said.get(sized.name, {}):
            continue  # what has been timed stays as it was predicted
        model, grid, counters = _fresh(sized)
        found = model.at(grid, counters)
        said[sized.name] = {"predicted_ms": found.ms, "limiter": found.limiter}
        print(f"{sized.name:20} {found.ms:9.4f} {found}", flush=True)
    recorded["second"] = recorded.get("second", {}) | {
        "what": "times in ms predicted for the kernels of blind_set.blind before they were timed",
        "date": time.strftime("%Y-%m-%d"), "command": "python bench/prediction.py blind", "kernels": said,
    }  # fmt: skip
    BLIND.write_text(json.dumps(recorded, indent=1) + "\n")
    return 0


def measure_blind(out: Path) -> int:
    """Times the same kernels; one that fails says so and is left out."""
    found: dict[str, Any] = {"gpu": gs.device().name, "blind": {}}
    for sized in blind():
        try:
            case = sized.make(sized.large)
            found["blind"][sized.name] = timed(case.kernel(), case.grid, case.block, case.shared, _sets(case)[:2])
            print(sized.name, found["blind"][sized.name], flush=True)
        except Exception as error:
            print("failed", sized.name, repr(error)[:300], flush=True)
        out.write_text(json.dumps(found, indent=1))
    return 0


def compare_blind(times: Path) -> int:
    """Puts the measured times beside the predicted ones, and the mean error, whatever it is."""
    measured, recorded = json.loads(times.read_text()), json.loads(BLIND.read_text())
    kernels = recorded["second"]["kernels"]
    for name, found in measured["blind"].items():
        earlier = {"first_measured_ms": kernels[name]["measured_ms"]} if "measured_ms" in kernels[name] else {}
        again = {"measured_ms": found["ms"], "error": kernels[name]["predicted_ms"] / found["ms"] - 1}
        kernels[name] = {**kernels[name], **earlier, **again}
        print(
            f"{name:20} {found['ms']:9.4f} {kernels[name]['predicted_ms']:9.4f} {100 * kernels[name]['error']:+6.0f} %"
        )
    errors = [abs(each["error"]) for each in kernels.values() if "error" in each]
    left = [name for name, each in kernels.items() if "error" not in each]
    summary = {
        "gpu": measured["gpu"], "kernels": len(errors), "mean_absolute_error": statistics.mean(errors),
        "median": statistics.median(errors), "not_timed": left,
        "command": "python bench/prediction.py blind-compare FILE",
    }  # fmt: skip
    recorded["second"]["summary"] = summary
    BLIND.write_text(json.dumps(recorded, indent=1) + "\n")
    print(json.dumps(summary, indent=1))
    return 0


def main() -> int:
    options = _options()
    match options.command:
        case "measure":
            return measure(options.file, options.seconds, options.ladders)
        case "blind-measure":
            return measure_blind(options.file)
        case "blind-compare":
            return compare_blind(options.file)
    with gs.use(gs.VirtualGPU(workers=2)):
        if options.command == "blind":
            return predict_blind()
        return (fit if options.command == "fit" else compare)(RESULTS / "times_h200.json")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", help="without one: predict and compare")
    measuring = commands.add_parser("measure", help="time kernels on a GPU")
    measuring.add_argument("--seconds", type=float, default=120.0, help="for everything")
    measuring.add_argument("--no-ladders", dest="ladders", action="store_false", help="kernels with one limiter only")
    commands.add_parser("fit", help="find the constants that fit best")
    commands.add_parser("blind", help="predict kernels that were never timed")
    timing = commands.add_parser("blind-measure", help="time those on a GPU")
    comparing = commands.add_parser("blind-compare", help="predicted against measured")
    for command in (measuring, timing, comparing):
        command.add_argument("file", type=Path)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
