"""Others' published records beside ours: the same op, shape and dtype, on the chip that the record is of.

    python bench/published_h200.py [--out FOLDER] [--markdown FILE]

RECORDS holds each figure with its source. Ours and the framework's are timed as bench/ops_h200.py does, in one run.
The records are of an H100 SXM; on another chip the rows are timed all the same, and the file says which. Writes
published_<chip>.json; `--markdown FILE` shows such a file as a table.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))

import torch
from common import RESULTS, need_gpu, save
from op_cases import OPS, Case, Op, Values, sdpa
from ops_h200 import all_rungs, measured, one_line, relative_error
from torch import Tensor

import gridstride.ops as ours
from gridstride.judge.find import find

Unit = Literal["TFLOP/s", "TB/s", "ms"]
ROWS_CHECKED = 64


@dataclass(frozen=True, slots=True)
class Record:
    """A figure as its authors give it. `op` is the ladder whose best rung, or shipped op, is held against it."""

    who: str
    op: str
    case: Case
    figure: float
    unit: Unit
    source: str


def _attention(sequence: int, *, width: int = 128, causal: bool = False) -> Case:
    """16,384 tokens in sequences of this length, 2,048 numbers each in heads of `width`, as FlashAttention-3 has it."""
    heads = 16_384 // sequence * (2_048 // width)
    numbers = {"past": 0 if causal else sequence, "scale": width**-0.5}
    return Case({"H": heads, "G": 1, "Q": sequence, "K": sequence}, "float16", numbers)


_FAST_CU = "github.com/pranjalssh/fast.cu, README, 2025"
_FA3 = "Shah et al., FlashAttention-3, arXiv 2407.08608, figure 5"
_QUACK = "github.com/Dao-AILab/quack, media/2025-07-10-membound-sol.md"
_LIGER = "github.com/linkedin/Liger-Kernel, benchmark/rms_norm_speed/nvidia_h100_80gb_hbm3, 2024"


def _square(n: int) -> Case:
    return Case({"M": n, "N": n, "K": n}, "bfloat16")


RECORDS = (
    Record("fast.cu", "matmul_half", _square(8192), 807.7, "TFLOP/s", _FAST_CU),
    Record("fast.cu", "matmul_half", _square(6144), 794.5, "TFLOP/s", _FAST_CU),
    *(
        Record("FlashAttention-3", "attention", _attention(s), figure, "TFLOP/s", _FA3)
        for s, figure in ((2048, 625.0), (4096, 638.0), (8192, 646.0), (16_384, 648.0))
    ),
    *(
        Record("FlashAttention-3", "attention", _attention(s, causal=True), figure, "TFLOP/s", _FA3)
        for s, figure in ((2048, 521.0), (4096, 579.0), (8192, 602.0), (16_384, 616.0))
    ),
    Record("Quack", "softmax", Case({"rows": 16_384, "columns": 131_072}), 3.01, "TB/s", _QUACK),
    *(
        Record("Liger", "rms_norm", Case({"N": 2048, "W": width}, "bfloat16", {"eps": 1e-6}), ms, "ms", _LIGER)
        for width, ms in ((8192, 0.029056), (16_384, 0.051104), (32_768, 0.097312))
    ),
)


# -- what is timed -----------------------------------------------------------------------------------------------------
def _some_rows(v: Values, y: Tensor) -> float:
    """Of a result that is too large for float64 beside it."""
    chosen = torch.linspace(0, len(y) - 1, ROWS_CHECKED, device=y.device).long()
    return relative_error(y[chosen], v["x"][chosen].double().softmax(-1))


def _plain_norm(v: Values) -> Tensor:
    return ours.rms_norm(v["residual"], v["weight"], v["eps"])


def _normed(v: Values) -> dict[str, Tensor]:
    x = v["residual"].double()
    return {"y": x * torch.rsqrt(x.square().mean(-1, keepdim=True) + v["eps"]) * v["weight"].double()}


def _torch_norm(v: Values) -> Tensor:
    return torch.nn.functional.rms_norm(v["residual"], v["residual"].shape[-1:], v["weight"], v["eps"])


_OPS: dict[str, Op] = {
    "matmul_half": OPS["matmul_half"],
    "attention": replace(OPS["attention"], peers={"cuDNN": sdpa("CUDNN_ATTENTION"), "flash": sdpa("FLASH_ATTENTION")}),
    "softmax": replace(OPS["softmax"], reference=None, error=_some_rows, compiled={}),
    "rms_norm": replace(
        OPS["rms_norm"], reference=_normed, shipped={"gridstride.ops": _plain_norm}, peers={"torch": _torch_norm},
        compiled={"compile": _torch_norm}, draw=lambda v: None,
    ),
}  # fmt: skip
_RUNGS = {"matmul_half": 2, "attention": 1, "softmax": 2, "rms_norm": 0}
"""How many of a ladder's last rungs take part: Liger's norm adds nothing, so none of the ladder that adds."""


def _rate(record: Record, row: dict[str, Any]) -> float:
    """A variant's figure in the record's unit."""
    return float(row[{"TFLOP/s": "tflops", "TB/s": "tbps", "ms": "ms"}[record.unit]])


def _entry(record: Record) -> dict[str, Any]:
    """The record with what was measured here."""
    op, problem = _OPS[record.op], find(record.op).problem
    count = _RUNGS[record.op]
    files = all_rungs(record.op, [])[-count:] if count else []
    about = {**asdict(record), "case": str(record.case)}
    try:
        with torch.no_grad():
            timed = measured(replace(op, goals=()), problem, record.case, files, [], lambda _: None)
    except Exception as refused:  # whatever it is, the other records are measured all the same
        torch.cuda.synchronize()
        return {**about, "here": {}, "failed": [one_line(refused)]}
    here = {row["variant"]: _rate(record, row) for row in timed["variants"] if row["kind"] != "copy"}
    mine = [_rate(record, row) for row in timed["variants"] if row["kind"] in ("rung", "op")]
    best = (min if record.unit == "ms" else max)(mine, default=None)
    ratio = best and (record.figure / best if record.unit == "ms" else best / record.figure)
    return {**about, "here": here, "ours": best, "ratio": ratio, "failed": timed["failed"]}


# -- all of them -------------------------------------------------------------------------------------------------------
def _shape(case: str) -> str:
    """A case in fewer words: of the numbers that are no sizes only whether a mask is causal."""
    sizes = " ".join(word for word in case.split() if not word.startswith(("G=", "past=", "scale=", "eps=")))
    return sizes + (" causal" if "past=0" in case else "")


def markdown(held: dict[str, Any]) -> str:
    """The table; `ratio` above 1: ours is faster than the record."""
    lines = ["| record | op, shape | published | ours | ratio | in the same run |", "|---|---|---|---|---|---|"]
    for each in held["records"]:
        others = ", ".join(f"{name} {rate:.4g}" for name, rate in each["here"].items() if rate != each.get("ours"))
        mine = f"{each['ours']:.4g} | {each['ratio']:.2f}" if each.get("ours") else "not measured |"
        shape = f"`{each['op']}` {_shape(each['case'])}"
        lines.append(f"| {each['who']} | {shape} | {each['figure']:g} {each['unit']} | {mine} | {others} |")
    sources = dict.fromkeys(f"{each['who']}: {each['source']}" for each in held["records"])
    return "\n".join([*lines, "", *(f"- {source}" for source in sources)])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="show this file as a table")
    words = parser.parse_args()
    if words.markdown:
        print(markdown(json.loads(words.markdown.read_text())))
        return 0
    need_gpu("bench/published_h200.py")
    gpu = torch.cuda.get_device_properties(0)
    torch.manual_seed(7)
    chip = next((each for each in ("h100", "h200") if each.upper() in gpu.name), gpu.name.replace(" ", "_").lower())
    entries = []
    for record in RECORDS:
        entries.append(_entry(record))
        print(json.dumps({k: entries[-1].get(k) for k in ("who", "case", "figure", "unit", "ours", "ratio", "here",
                                                         "failed")}), flush=True)  # fmt: skip
        torch.cuda.empty_cache()
    save(f"published_{chip}", {"gpu": gpu.name, "torch": torch.__version__, "records": entries}, folder=words.out)
    return 0 if all(each.get("ours") for each in entries) else 1


if __name__ == "__main__":
    sys.exit(main())
