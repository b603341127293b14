"""What bench/ops_h200.py does without a GPU: its references, its choice of rungs, its goals and its table."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch

import gridstride as gs
from gridstride.judge.find import find

BENCH = Path(__file__).parents[2] / "bench"
OPS = (
    "vector_add saxpy gelu gelu_backward softmax softmax_backward cross_entropy cross_entropy_backward layer_norm "
    "rms_norm adamw dropout rms_norm_backward layer_norm_backward silu_mul swiglu swiglu_backward rotary transpose "
    "aos_to_soa reduction argmax radix_sort scan histogram remove_mean grayscale box_blur convolution matmul "
    "matmul_half convolution_half matmul_fp8 matmul_tf32 linear_gelu attention row_dot attention_backward"
).split()


@pytest.fixture(scope="module")
def bench() -> Iterator[ModuleType]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "path", [str(BENCH), *sys.path])
        import ops_h200

        yield ops_h200


def tiny(bench: ModuleType, name: str) -> Any:
    """The op's first case at a public size."""
    problem = find(name).problem
    return replace(bench.OPS[name].cases[0], sizes=problem.public[0])


def test_every_case_gives_each_size_and_number_of_its_problem(bench: ModuleType) -> None:
    assert list(bench.OPS) == OPS
    for name, op in bench.OPS.items():
        problem = find(name).problem
        scalars = {p.name for p in problem.parameters if p.role == "scalar"}
        for case in op.cases:
            assert set(case.sizes) == set(problem.sizes), f"{name} {case}"
            assert set(case.sizes) | set(case.numbers) >= scalars, f"{name} {case}"
            assert set(op.slow) < {file.name for file in find(name).rungs()}


@pytest.mark.parametrize("name", OPS)
def test_the_last_rung_agrees_with_the_reference(bench: ModuleType, name: str) -> None:
    torch.manual_seed(3)
    op, problem, case = bench.OPS[name], find(name).problem, tiny(bench, name)
    file = [each for each in find(name).rungs() if not each.needs or name.startswith("attention")][-1]
    gpu = gs.VirtualGPU("h200")

    def call(v: dict[str, Any]) -> None:
        with gs.use(gpu):
            options = ["-DBFLOAT16=1"] if case.dtype == "bfloat16" else []
            kernel = gs.cuda(file.source, options, filename=file.filename)[file.entry]
            found = file.launch.shape({**case.sizes, "SMS": 4})
            args = tuple(v[p.name] for p in problem.parameters)
            kernel.launch(
                grid=found.grid, block=found.block, args=args, shared=found.shared, **file.launch.flags
            )  # fmt: skip

    values = bench.drawn(op, problem, case, "cpu")
    expected = None if op.reference is None else next(iter(op.reference(values).values()))
    nothing = bench.Variant("nothing", "rung", lambda v: None)
    assert not bench.checked(nothing, op, problem, values, expected) <= bench.tolerance(problem, case, "rung")
    rung = bench.Variant(file.name, "rung", call)
    assert bench.checked(rung, op, problem, values, expected) <= bench.tolerance(problem, case, "rung")


@pytest.mark.parametrize("name", OPS)
def test_peers_and_ops_agree_with_the_reference(bench: ModuleType, name: str) -> None:
    op, problem, case = bench.OPS[name], find(name).problem, tiny(bench, name)
    for peer, call in {**op.peers, **op.shipped}.items():
        if (peer in ("CUB", "cuDNN", "flash") and not name.startswith("convolution")) or (name, peer) == (
            "rms_norm_backward",
            "torch",
        ):
            continue  # these need a GPU
        values = bench.drawn(op, problem, case, "cpu")
        expected = None if op.reference is None else next(iter(op.reference(values).values()))
        error = bench.checked(bench.Variant(peer, "peer", call), op, problem, values, expected)
        assert error <= bench.tolerance(problem, case, "peer"), peer


def test_a_rung_is_timed_in_the_floats_that_it_is_written_for(bench: ModuleType) -> None:
    op, problem, files = bench.OPS["attention"], find("attention").problem, list(find("attention").rungs())
    half, bfloat = op.cases[0], next(case for case in op.cases if case.dtype == "bfloat16")
    assert [f.name for f in files if bench.runs(f, op, problem, bfloat)] == [
        f.name for f in files if bench.runs(f, op, problem, half)
    ]
    gelu, bfloat = bench.OPS["gelu"], bench.OPS["gelu"].cases[1]
    assert not any(bench.runs(f, gelu, find("gelu").problem, bfloat) for f in find("gelu").rungs())


def test_heads_of_256_run_by_the_rungs_that_say_so_alone(bench: ModuleType) -> None:
    for name, rung in (("attention", "07_fixed_offsets"), ("attention_backward", "06_wide_heads")):
        op, problem = bench.OPS[name], find(name).problem
        wide = [case for case in op.cases if case.width == bench.WIDE]
        assert {each.name for case in wide for each in find(name).rungs() if bench.runs(each, op, problem, case)} == {
            rung
        }
        assert 200 << 10 < op.wide[rung] <= 227 << 10


def test_bytes_follow_the_floats_and_operations_the_mask(bench: ModuleType) -> None:
    problem, plain = find("gelu").problem, bench.Case({"n": 100})
    assert bench.work_of(problem, plain) == problem.work({"n": 100})
    assert bench.work_of(problem, replace(plain, dtype="bfloat16"))[1] == problem.work({"n": 100})[1] // 2
    problem, sizes = find("matmul_fp8").problem, {"M": 2, "N": 3, "K": 4}
    assert bench.work_of(problem, bench.Case(sizes, "bfloat16")) == problem.work(sizes)  # its 8-bit floats stay
    problem, sizes = find("attention").problem, {"H": 2, "G": 1, "Q": 64, "K": 64}
    assert bench.work_of(problem, bench.Case(sizes, width=64)) == tuple(each // 2 for each in problem.work(sizes))
    assert bench.work_of(problem, bench.Case(sizes, numbers={"past": 64}))[0] == problem.work(sizes)[0]
    assert bench.work_of(problem, bench.Case(sizes, numbers={"past": 0}))[0] == problem.work(sizes)[0] // 2


def test_a_setting_changes_constants_and_the_launch_of_one_rung(bench: ModuleType) -> None:
    files = bench.all_rungs("matmul_half", ["matmul_half/06_specialised;BN=128;grid=7;shared=4*N"])
    assert len(files) == len(list(find("matmul_half").rungs())) + 1
    changed = next(file for file in files if file.name == "06_specialised BN=128 grid=7 shared=4*N")
    assert "constexpr int BM = 128, BN = 128;" in changed.source
    assert changed.launch.shape({"N": 2}) == replace(changed.launch.shape({"N": 2}), grid=(7, 1, 1), shared=8)
    softmax = bench.all_rungs("softmax", ["softmax/04_registers;KEPT=2"])
    assert "#define KEPT 2 " in softmax[4].source
    with pytest.raises(ValueError, match="06_specialised has no NOTHING"):
        bench.all_rungs("matmul_half", ["matmul_half/06_specialised;NOTHING=1"])


def test_gradients_of_attention_are_held_against_float64_all_three(bench: ModuleType) -> None:
    torch.manual_seed(5)
    op, problem = bench.OPS["attention_backward"], find("attention_backward").problem
    case = bench.Case({"H": 2, "G": 3, "Q": 33, "K": 5}, "float32", {"past": 1, "scale": 0.125}, width=64)
    values = bench.drawn(op, problem, case, "cpu")
    assert values["dk"].shape == (2, 5, 64)
    dk = op.shipped["gridstride.ops"](values)
    right = values["gradients"]
    assert op.error(values, dk) < 1e-5
    for wrong in range(3):
        values["gradients"] = [each * (1.01 if n == wrong else 1.0) for n, each in enumerate(right)]
        assert op.error(values, dk) > 1e-3


def rows(**ms: float) -> list[dict[str, Any]]:
    kinds = {"torch": "peer", "copy": "copy"}
    return [
        {"variant": n, "kind": kinds.get(n, "rung"), "ms": t, "tbps": 1 / t, "tflops": 2 / t} for n, t in ms.items()
    ]


def test_a_goal_is_the_best_of_ours_against_the_copy_or_a_peer(bench: ModuleType) -> None:
    case = bench.Case({"n": 1})
    found = bench.judged((bench.Goal("copy", 0.9),), case, rows(first=4.0, second=2.0, torch=3.0, copy=1.9))
    assert found["best"] == "second"
    assert found["goal"] == {"peer": "copy", "ratio": 0.9, "reached": pytest.approx(0.95), "met": True}
    found = bench.judged((bench.Goal("torch", 1.6),), case, rows(first=4.0, second=2.0, torch=3.0))
    assert found["goal"]["reached"] == pytest.approx(1.5)
    assert not found["goal"]["met"]
    assert "goal" not in bench.judged((bench.Goal("torch", 1.6, "bfloat16"),), case, rows(first=4.0, torch=3.0))


def test_the_table_names_the_goal_the_best_and_what_failed(bench: ModuleType) -> None:
    case = bench.Case({"n": 1})
    found = bench.judged((bench.Goal("copy", 0.9),), case, rows(first=4.0, second=2.0, torch=3.0, copy=1.9))
    shown = bench.table("gelu", {"case": str(case), **found, "failed": [{"variant": "third", "why": "no memory"}]})
    assert shown == (
        "gelu n=1  0.950 of copy: met 0.9\n  second 2 (0.95cp); first 4 (0.475cp) | torch 3 (0.633cp)\n"
        "  FAILED third: no memory"
    )


def test_a_case_as_a_markdown_table(bench: ModuleType) -> None:
    case = bench.Case({"n": 1})
    found = bench.judged((), case, rows(first=4.0, torch=3.0, copy=2.0))
    assert bench.markdown("gelu", {"case": str(case), "dtype": "float32", **found}).splitlines()[2:] == [
        "| kernel | ms | TB/s | of the copy | × torch |",
        "|---|---|---|---|---|",
        "| `first` | 4 | 0.25 | 0.500 | 0.75 |",
        "| `torch` | 3 | 0.333 | 0.667 | 1.00 |",
        "| `copy` | 2 | 0.5 | 1.000 |  |",
    ]


WORKER = """
import json, sys, time
sys.stdin.readline()
print(json.dumps({"entry": {"case": "one"}}), flush=True)
print(json.dumps({"trying": "bad"}), flush=True)
ENDING
"""


@pytest.mark.parametrize(
    ("ending", "trouble"), [("raise ValueError('lost')", "ValueError: lost"), ("time.sleep(60)", "over its cap of 1 s")]
)
def test_what_a_worker_measured_before_it_died_is_kept(
    bench: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str, trouble: str
) -> None:
    script = tmp_path / "worker.py"
    script.write_text(WORKER.replace("ENDING", ending))
    monkeypatch.setattr(bench, "__file__", str(script))
    assert bench.Worker("gelu", [], [], 0, None).finish(1) == ([{"case": "one"}], trouble, "bad")


def test_an_op_goes_on_without_the_variant_that_it_died_in(
    bench: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = tmp_path / "worker.py"
    script.write_text(WORKER.replace("ENDING", "if 'bad' not in sys.argv: raise ValueError('lost')"))
    monkeypatch.setattr(bench, "__file__", str(script))
    found, troubles = bench.all_of(bench.Worker("gelu", [], [], 0, None), 5, None)
    assert found == [{"case": "one"}, {"case": "one"}]
    assert troubles == ["bad: ValueError: lost"]
