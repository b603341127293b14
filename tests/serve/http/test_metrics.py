"""What Prometheus reads: every name that the dashboard and the documents use, and the right counts."""

from __future__ import annotations

import json
import re
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from live import fake
from prometheus_client import CollectorRegistry, Histogram, generate_latest

import gridstride.serve
from gridstride.serve.engine.messages import Stats
from gridstride.serve.http.metrics import Metrics, Repeated
from gridstride.serve.process.protocol import Ready

NAMES = (
    "num_requests_running num_requests_waiting kv_cache_usage_perc kv_cache_waste_perc prompt_tokens_total "
    "generation_tokens_total prefix_cache_hits_total prefix_cache_queries_total request_success_total "
    "time_to_first_token_seconds_bucket inter_token_latency_seconds_bucket e2e_request_latency_seconds_bucket "
    "request_queue_time_seconds_bucket num_preemptions_total engine_restarts_total engine_up "
    "engine_steps_total request_prompt_tokens_sum request_generation_tokens_sum "
    "request_prefill_time_seconds_bucket request_decode_time_seconds_bucket request_inference_time_seconds_bucket "
    "request_time_per_output_token_seconds_bucket iteration_tokens_total_bucket request_params_n_sum "
    "request_params_max_tokens_sum "
    "spec_decode_num_drafts_total spec_decode_num_draft_tokens_total spec_decode_num_accepted_tokens_total"
).split()


def test_counts_are_those_of_what_was_asked(folder: Path) -> None:
    with fake(folder) as live:
        live.complete([9, 9, 9], max_tokens=5)
        live.complete([40] * 17, max_tokens=2, stream=True)
        live.complete([40] * 17, max_tokens=2, n=2)
        live.complete([317], max_tokens=9)  # to the model's end, three tokens on
        live.complete([3])
        live.complete([9] * 500)
        live.until(live.idle)
        found = live.metrics()
    assert found["prompt_tokens_total{}"] == 3 + 17 + 2 * 17 + 1 + 1
    assert found["generation_tokens_total{}"] == 5 + 2 + 2 * 2 + 3
    assert found['request_success_total{finished_reason="length"}'] == 4
    assert found['request_success_total{finished_reason="stop"}'] == 1
    assert found['request_success_total{finished_reason="error"}'] == 1
    assert found["time_to_first_token_seconds_count{}"] == 5
    assert found["inter_token_latency_seconds_count{}"] == 14 - 5
    assert found["e2e_request_latency_seconds_count{}"] == 6
    assert found["prefix_cache_hits_total{}"] >= 16  # two blocks of the seventeen
    assert found["engine_up{}"] == 1
    assert found["request_params_n_sum{}"] == 1 + 1 + 2 + 1 + 1
    assert found["request_params_max_tokens_sum{}"] == 5 + 2 + 2 * 2 + 9 + 16
    assert found["request_prefill_time_seconds_count{}"] == found["request_decode_time_seconds_count{}"] == 5
    assert found["request_inference_time_seconds_count{}"] == 5
    assert found["iteration_tokens_total_count{}"] == found["engine_steps_total{}"]
    assert found["iteration_tokens_total_sum{}"] >= 3 + 17 + 14 - 5
    assert found['cache_config_info{block_size="8",enable_prefix_caching="True",num_gpu_blocks="64"}'] == 1
    assert found['http_requests_total{path="/v1/completions",status="200"}'] == 4
    assert found['http_requests_total{path="/v1/completions",status="400"}'] == 1
    assert found['http_requests_total{path="/v1/completions",status="500"}'] == 1


def test_every_promised_name_is_there_and_has_the_model() -> None:
    text = Metrics("a model").text().decode()
    for name in NAMES:
        assert re.search(rf'^gridstride:{name}{{engine="0".*model_name="a model"', text, re.MULTILINE), name
    assert "_created" not in text


@given(st.lists(st.tuples(st.sampled_from([0.0, 0.1, 0.2, 1.0, 7.0]), st.integers(1, 9))))
def test_a_value_many_times_is_that_many_values(values: list[tuple[float, int]]) -> None:
    ours, theirs = CollectorRegistry(), CollectorRegistry()
    repeated = Repeated("gaps", "Between.", (0.1, 1), labels={"model": "m"})
    ours.register(repeated)
    library = Histogram("gaps", "Between.", ["model"], registry=theirs, buckets=(0.1, 1)).labels("m")
    for value, times in values:
        repeated.observe(value, times)
        for _ in range(times):
            library.observe(value)
    assert _lines(ours) == _lines(theirs)


def _lines(registry: CollectorRegistry) -> dict[str, float]:
    lines = [line.rsplit(" ", 1) for line in generate_latest(registry).decode().splitlines() if "_created" not in line]
    return {name: round(float(value), 6) for name, value in lines if not name.startswith("#")}


def test_the_dashboard_asks_for_nothing_that_is_not_there() -> None:
    dashboard = Path(gridstride.serve.__file__).parent / "dashboard.json"
    asked = set(re.findall(r"gridstride:([a-z0-9_]+)", dashboard.read_text()))
    known = set(re.findall(r"^gridstride:([a-z0-9_]+)", Metrics("m").text().decode(), re.MULTILINE))
    assert asked
    assert asked - known - {"http_requests_total"} == set()
    assert json.loads(dashboard.read_text())["title"]


def stats(**changes: Any) -> Stats:
    return Stats(**(dict.fromkeys([field.name for field in fields(Stats)], 0) | {"accepted_at": ()} | changes))


def value(metrics: Metrics, name: str, label: str = "") -> float:
    lines = metrics.text().decode().splitlines()
    return float(next(line for line in lines if line.startswith(f"gridstride:{name}{{") and label in line).split()[-1])


def test_accepted_tokens_are_counted_by_their_place_in_a_guess() -> None:
    metrics = Metrics("m")
    metrics.stepped(stats(accepted_at=(5, 3, 0)))
    metrics.restarted()
    metrics.stepped(stats(accepted_at=(2, 1, 1)))
    name = "spec_decode_num_accepted_tokens_per_pos_total"
    assert [value(metrics, name, f'position="{place}"') for place in range(3)] == [7, 4, 1]


def test_what_computes_the_steps_is_there() -> None:
    metrics = Metrics("m")
    ready = Ready(context=1, blocks=1, block_size=1, vocabulary=1, max_running=1, device="cpu")
    metrics.connected(replace(ready, code="pytorch", code_words="PyTorch's operators: family x"))
    metrics.connected(replace(ready, code="llvm", code_words="machine code"))
    assert value(metrics, "engine_info", 'code="llvm",device="cpu"') == 1
    assert "family x" not in metrics.text().decode()
    metrics.stepped(stats(steps=5, native_steps=3))
    metrics.restarted()
    metrics.stepped(stats(steps=1, native_steps=1))
    assert value(metrics, "engine_native_steps_total") == 4


def test_counters_go_on_when_the_engines_own_begin_anew() -> None:
    metrics = Metrics("m")
    metrics.stepped(stats(drafts=3, draft_tokens=20, accepted_tokens=9))
    metrics.stepped(
        stats(
            steps=5,
            prefix_hits=10,
            drafts=4,
            draft_tokens=28,
            accepted_tokens=12,
            running=3,
            blocks_used=2,
            blocks_total=4,
        )
    )
    metrics.restarted()
    assert value(metrics, "num_requests_running") == 0
    assert value(metrics, "kv_cache_usage_perc") == 0
    metrics.stepped(stats(steps=2, prefix_hits=1, drafts=1, draft_tokens=8, accepted_tokens=2, blocks_total=4))
    assert value(metrics, "engine_steps_total") == 7
    assert value(metrics, "prefix_cache_hits_total") == 11
    assert value(metrics, "engine_restarts_total") == 1
    guesses = ("drafts", "draft_tokens", "accepted_tokens")
    assert [value(metrics, f"spec_decode_num_{each}_total") for each in guesses] == [5, 36, 14]
