"""`gridstride onnx run`: a model by our graph engine, node by node with what each counts, beside ONNX Runtime."""

from __future__ import annotations

import runpy
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gridstride.commands.onnx.onnx_model import check_suffix, sizes_of, usage_errors
from gridstride.commands.target import device_of, where
from gridstride.commands.terminal import WrongUse, emit, stdout
from gridstride.frameworks.onnx.check import difference, run_session, session_of
from gridstride.frameworks.onnx.engine import Engine, NodeRun, Result
from gridstride.frameworks.onnx.input_values import random_inputs, read_inputs

if TYPE_CHECKING:
    from rich.table import Table

    from gridstride.commands.options.onnx_options import RunWords


def run(file: str, words: RunWords, *, as_json: bool) -> bool:
    """Whether the outputs are ONNX Runtime's, where they were compared."""
    target = check_suffix("--outputs", words.outputs, ".npz") if words.outputs is not None else None
    chosen_sizes = sizes_of(words.sizes)
    if words.inputs is not None and chosen_sizes:
        raise WrongUse("--size draws random inputs, and --inputs gives them: leave one out")
    chosen = device_of(words.device, words.chip)
    with usage_errors():
        for plugin in words.plugins:
            _load_plugin(plugin)
        engine = Engine(file, device=chosen, fused=not words.no_fusion)
        if words.inputs is None:
            values = random_inputs(engine.graph.inputs, chosen_sizes, words.seed, engine.token_limits)
        else:
            values = read_inputs(words.inputs)
        result = engine.run(values, observe=True)
        errors = _compare(file, values, result, int8=engine.int8) if words.compare else {}
    if target is not None:
        _write(target, result)
    passed = all(share <= 1 for _, share in errors.values())
    if as_json:
        emit(_json(file, engine, result, errors, passed))
        return passed
    _show(file, engine, result, errors, where(chosen))
    return passed


def _write(target: Path, result: Result) -> None:
    try:
        np.savez(target, **result.outputs)  # type: ignore[arg-type]
    except OSError as error:
        raise WrongUse(f"--outputs {target} cannot be written: {error.strerror}") from error


def _load_plugin(file: str) -> None:
    """Run a file that registers plugins."""
    if not Path(file).is_file():
        raise WrongUse(f"--plugin {file}: there is no such file")
    try:
        runpy.run_path(file)
    except Exception as error:  # whatever a user's file raises
        raise WrongUse(f"--plugin {file}: {type(error).__name__}: {error}") from error


def _compare(file: str, values: Mapping[str, Any], result: Result, *, int8: bool) -> dict[str, tuple[float, float]]:
    reference = run_session(session_of(file, file), values)
    return {name: difference(value, reference[name], int8=int8) for name, value in result.outputs.items()}


def _json(
    file: str, engine: Engine, result: Result, errors: Mapping[str, tuple[float, float]], passed: bool
) -> dict[str, Any]:
    shown: dict[str, dict[str, Any]] = {
        name: {"shape": list(value.shape), "dtype": str(value.dtype)} for name, value in result.outputs.items()
    }
    for name, (error, _) in errors.items():
        shown[name]["error"] = error if np.isfinite(error) else "infinite"
    return {
        "file": file, "device": engine.device.kind, "passed": passed if errors else None,
        "nodes_before": engine.nodes_before, "folded": engine.folded, "fusions": engine.fusions,
        "predicted": engine.device.kind == "virtual", "ms": _total(result.nodes), "outputs": shown,
        "nodes": [_node_json(node) for node in result.nodes],
    }  # fmt: skip


def _node_json(node: NodeRun) -> dict[str, Any]:
    launches = [
        {"kernel": launch.kernel, "grid": list(launch.grid), "block": list(launch.block), "ms": launch.ms,
         "instructions": launch.instructions, "sectors": launch.sectors, "limiter": launch.limiter}
        for launch in node.launches
    ]  # fmt: skip
    return {"name": node.name, "op": node.op, "shape": list(node.shape), "where": node.where, "ms": node.ms,
            "launches": launches}  # fmt: skip


def _total(nodes: Sequence[NodeRun]) -> float:
    return sum(node.ms or 0.0 for node in nodes)


def _show(file: str, engine: Engine, result: Result, errors: Mapping[str, tuple[float, float]], machine: str) -> None:
    console = stdout()
    fusions = ", ".join(f"{name} {count}" for name, count in engine.fusions.items()) or "none"
    launches = [launch for node in result.nodes for launch in node.launches]
    kind = "predicted" if engine.device.kind == "virtual" else "measured"
    console.print(f"{file} on {machine}: {engine.nodes_before} nodes, {len(result.nodes)} after fusion ({fusions})")
    console.print(_table(result.nodes, kind))
    console.print(
        f"{len(launches)} launches, {_total(result.nodes):.4g} ms {kind}; views and host nodes left out above"
    )
    for name, value in result.outputs.items():
        error = f", max error {errors[name][0]:.2g} against onnxruntime" if name in errors else ""
        verdict = "  TOO LARGE" if name in errors and errors[name][1] > 1 else ""
        console.print(f"{name}: {value.dtype} {list(value.shape)}{error}{verdict}")


def _table(nodes: Sequence[NodeRun], kind: str) -> Table:
    """The nodes that launched kernels."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for heading in ("node", "operator", "result", "kernels"):
        table.add_column(heading, overflow="fold")
    for heading in (f"ms {kind}", "warp instructions", "sectors"):
        table.add_column(heading, justify="right")
    for node in nodes:
        if not node.launches:
            continue
        counts = [
            sum(getattr(launch, name) or 0 for launch in node.launches) for name in ("instructions", "sectors")
        ]  # fmt: skip
        table.add_row(
            node.name, node.op, str(list(node.shape)),
            ", ".join(dict.fromkeys(started.kernel for started in node.launches)),
            f"{node.ms or 0.0:.4f}", *(f"{count:,}" if count else "-" for count in counts),
        )  # fmt: skip
    return table
