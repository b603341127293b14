"""The onnx package's own tests of single operators ("node tests") by the engine, on the virtual GPU.

    python bench/onnx_node_tests.py              # needs pip install 'gridstride[onnx]'
    python bench/onnx_node_tests.py --only conv  # those whose name holds the word, nothing written

A test is right where all outputs have the type and shape that onnx recorded and its values within the tolerance that
the test itself has (rtol 1e-3 and atol 1e-7 where it says nothing else). What is not right was either refused by a
sentence before a wrong number could appear, or computed wrongly; both are counted, by operator.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "src")]

from common import Row, machine, publish  # noqa: E402

import gridstride as gs  # noqa: E402
from gridstride.frameworks.onnx.engine import Engine  # noqa: E402
from gridstride.frameworks.onnx.graph import graph_of  # noqa: E402
from gridstride.frameworks.onnx.model_file import check_model  # noqa: E402
from gridstride.frameworks.onnx.onnx_errors import OnnxError  # noqa: E402

BFLOAT16_RTOL = 2**-6
"""Two units in the last place, as onnx's own runner has it (onnx.backend.test.runner)."""
REASON = 160
"""Characters of a sentence that are kept; behind the first semicolon there is the list of operators."""
SHOWN = 12
"""Operators of a row's note."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a test: "right", "refused" with the sentence, or "wrong" with the difference."""

    name: str
    operator: str
    verdict: str
    reason: str = ""


def main() -> None:
    """Run every test, print the table, write bench/results/onnx_node_tests.json."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", metavar="WORD", help="tests whose name holds it, nothing written")
    only = parser.parse_args().only
    started = machine()
    with gs.use(gs.VirtualGPU("h200")):
        outcomes = [outcome(case) for case in cases() if only is None or only in case.name]
    if only is not None:
        for each in outcomes:
            print(f"{each.verdict:8} {each.name}: {each.reason}")
    if only is None:
        publish("onnx_node_tests", rows(outcomes), started)


def cases() -> list[Any]:
    """The tests of single operators that the installed onnx makes."""
    from onnx.backend.test.case.node import collect_testcases

    return list(collect_testcases(None))


def outcome(case: Any) -> Outcome:
    """One test, all of its data sets."""
    operator = "+".join(dict.fromkeys(node.op_type for node in case.model.graph.node))
    try:
        check_model(case.model, case.name)
        engine = Engine(graph_of(case.model, case.name))
        for given, expected in case.data_sets:
            difference = _difference(engine, given, expected, case)
            if difference:
                return Outcome(case.name, operator, "wrong", difference)
    except OnnxError as error:
        return Outcome(case.name, operator, "refused", str(error).splitlines()[0].partition(";")[0][:REASON])
    except Exception as error:  # a defect of the engine, which must not hide the other tests
        return Outcome(case.name, operator, "wrong", f"{type(error).__name__}: {error}")
    return Outcome(case.name, operator, "right")


def _difference(engine: Engine, given: Sequence[Any], expected: Sequence[Any], case: Any) -> str:
    """In words; nothing where every output is as it was recorded."""
    names = [port.name for port in case.model.graph.input]
    outputs = engine.run({name: _array(value) for name, value in zip(names, given, strict=False)}).outputs
    for port, wanted in zip(case.model.graph.output, expected, strict=True):
        said = _compared(outputs[port.name], _array(wanted), case)
        if said:
            return f"{port.name}: {said}"
    return ""


def _array(value: Any) -> np.ndarray[Any, Any]:
    """Some tests hold their values as they stand in a file."""
    from onnx import TensorProto, numpy_helper

    return np.asarray(numpy_helper.to_array(value) if isinstance(value, TensorProto) else value)


def _compared(value: np.ndarray[Any, Any], wanted: np.ndarray[Any, Any], case: Any) -> str:
    if value.dtype != wanted.dtype or value.shape != wanted.shape:
        return f"{value.dtype} {list(value.shape)} instead of {wanted.dtype} {list(wanted.shape)}"
    if wanted.dtype.kind in "biuOUS":
        return "" if np.array_equal(value, wanted) else "other values"
    kind = np.complex128 if wanted.dtype.kind == "c" else np.float64
    rtol = max(case.rtol, BFLOAT16_RTOL) if wanted.dtype.name == "bfloat16" else case.rtol
    close = np.isclose(value.astype(kind), wanted.astype(kind), rtol, case.atol, equal_nan=True)
    return "" if close.all() else f"{int((~close).sum())} of {close.size} values differ"


def rows(outcomes: Sequence[Outcome]) -> list[Row]:
    """How many are right, refused and wrong, with the operators of those that are not."""
    verdicts = Counter(each.verdict for each in outcomes)
    detail: Mapping[str, Any] = {"onnx": metadata.version("onnx")}
    made = [Row("node tests right", f"{verdicts['right']} of {len(outcomes)}", detail=detail)]
    for verdict in ("refused", "wrong"):
        named = Counter(each.operator for each in outcomes if each.verdict == verdict)
        note = ", ".join(f"{operator} {count}" for operator, count in named.most_common(SHOWN))
        reasons = {each.name: each.reason for each in outcomes if each.verdict == verdict}
        made.append(Row(f"node tests {verdict}", str(verdicts[verdict]), note=note, detail=reasons))
    return made


if __name__ == "__main__":
    main()
