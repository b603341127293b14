"""ONNX models by the engine: small models of every sort, and some of the transformers library, on the virtual GPU, held
against ONNX Runtime.

    python bench/onnx_models.py          # needs pip install 'gridstride[onnx,torch]' transformers

Errors are the largest difference over all shapes of a model; met: all within the tolerance of their dtype
(frameworks/onnx/check.py). Times of the virtual GPU are predicted for an H200, never measured.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests" / "frameworks" / "onnx")]

from common import Row, machine, publish  # noqa: E402
from library_models import LIBRARY, library_model  # noqa: E402
from small_models import Model, models  # noqa: E402

import gridstride as gs  # noqa: E402
from gridstride.frameworks.onnx.check import difference, run_session, session_of  # noqa: E402
from gridstride.frameworks.onnx.engine import Engine, Result  # noqa: E402
from gridstride.frameworks.onnx.input_values import random_inputs  # noqa: E402


def main() -> None:
    """Run every model, print the table, write bench/results/onnx_models.json."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", metavar="NAME", help="one model, nothing written")
    only = parser.parse_args().only
    started = machine()
    made = [*models().values(), *map(library_model, LIBRARY)]
    rows = [row(model) for model in made if only in (None, model.name)]
    if only is not None:
        print(rows)
        return
    passed = sum(bool(each.met) for each in rows)
    total = Row("all models", f"{passed} of {len(rows)}", "12 at least", passed == len(rows) and passed >= 12)
    publish("onnx_models", [total, *rows], started)


def row(model: Model) -> Row:
    """One model at all its shapes, with fusion and, at the last shape, without."""
    print(model.name, file=sys.stderr, flush=True)
    with tempfile.TemporaryDirectory() as folder, gs.use(gs.VirtualGPU("h200")):
        path = Path(folder) / "model.onnx"
        model.write(path)
        try:
            return _measured(model, path)
        except Exception as error:  # one model that fails must not hide the others
            return Row(model.name, "fails", "runs", False, str(error).splitlines()[0])


def _measured(model: Model, path: Path) -> Row:
    engine, session = Engine(path), session_of(path, str(path))
    errors: list[tuple[float, float]] = []
    for sizes in model.shapes:
        values = random_inputs(engine.graph.inputs, sizes, 0, {"": model.tokens} | engine.token_limits)
        wanted = run_session(session, values)
        fused = engine.run(values, observe=True)
        errors += [difference(fused.outputs[name], wanted[name], int8=engine.int8) for name in wanted]
    plain = Engine(path, fused=False).run(values, observe=True)
    errors += [difference(plain.outputs[name], wanted[name], int8=engine.int8) for name in wanted]
    error, share = (max(each) for each in zip(*errors, strict=True))
    before, after = _counted(plain), _counted(fused)
    launches, times = (
        f"{before[key]:{form}} -> {after[key]:{form}}" for key, form in (("launches", "d"), ("ms", ".3f"))
    )
    figure = f"{error:.1e}; {launches} launches, {times} ms"
    detail = {
        "shapes": [dict(sizes) for sizes in model.shapes], "share_of_tolerance": share, "nodes": engine.nodes_before,
        "nodes_fused": len(engine.graph.nodes), "fusions": engine.fusions, "without_fusion": before, "fused": after,
    }  # fmt: skip
    return Row(f"{model.name}: {model.title}", figure, "tolerance of its dtype", share <= 1, "", detail)


def _counted(result: Result) -> dict[str, Any]:
    launches = [launch for node in result.nodes for launch in node.launches]
    return {
        "launches": len(launches),
        "ms": sum(launch.ms or 0.0 for launch in launches),
        "instructions": sum(launch.instructions or 0 for launch in launches),
        "sectors": sum(launch.sectors or 0 for launch in launches),
    }


if __name__ == "__main__":
    main()
