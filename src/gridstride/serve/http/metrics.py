"""What Prometheus reads: vLLM's names with the prefix `gridstride:`, so that its dashboards need one word changed."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import accumulate, zip_longest

from prometheus_client import CollectorRegistry, Counter, Gauge, disable_created_metrics, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from prometheus_client.metrics_core import HistogramMetricFamily

from gridstride.serve.engine.messages import Finish, Stats, Update
from gridstride.serve.process.client import SequenceStream
from gridstride.serve.process.protocol import Ready

_P = "gridstride:"
_LABELS = ("model_name", "engine")
_ENGINE = "0"  # there is one; vLLM numbers those that share the work
_FINISHES: tuple[Finish, ...] = ("stop", "length", "abort", "error")
# Seconds. From a batch of one on a large GPU to a queue on a laptop.
_BETWEEN = (0.001, 0.0025, 0.005, 0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.5, 0.75, 1, 2.5, 5, 10)
_FIRST = (0.005, 0.01, 0.02, 0.04, 0.06, 0.1, 0.15, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 20, 40, 80, 160)
_WHOLE = (0.05, 0.1, 0.3, 0.5, 0.8, 1, 1.5, 2, 2.5, 5, 10, 15, 20, 30, 40, 50, 60, 120, 240, 480, 960)
_TOKENS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000)
_COUNTS = (1, 2, 5, 10, 20)
_STEP = (1, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16_384)
_NOTHING = Stats(
    running=0, waiting=0, blocks_total=0, blocks_used=0, blocks_cached=0, slots_wasted=0,
    preemptions=0, prefix_queries=0, prefix_hits=0, steps=0, native_steps=0, step_tokens=0,
    drafts=0, draft_tokens=0, accepted_tokens=0, accepted_at=(),
)  # fmt: skip


class Repeated:
    """A histogram that takes the same value many times at once, and finds its bucket without trying each.

    The library's own takes a lock and some microseconds; here one thread observes.
    """

    def __init__(self, name: str, words: str, bounds: tuple[float, ...], *, labels: Mapping[str, str]) -> None:
        self._name, self._words, self._bounds, self._labels = name, words, bounds, labels
        self._counts, self._sum = [0] * (len(bounds) + 1), 0.0  # of each bucket, the last without a bound

    def observe(self, value: float, times: int = 1) -> None:
        self._counts[bisect_left(self._bounds, value)] += times
        self._sum += value * times

    def collect(self) -> Iterator[HistogramMetricFamily]:
        """For the registry."""
        family = HistogramMetricFamily(self._name, self._words, labels=[*self._labels])
        bounds = [*(str(float(bound)) for bound in self._bounds), "+Inf"]
        family.add_metric([*self._labels.values()], list(zip(bounds, accumulate(self._counts), strict=True)), self._sum)
        yield family


class Metrics:
    """Observes an engine's client. Counters go on over a restart of the engine, whose own begin anew."""

    content_type = CONTENT_TYPE_PLAIN_0_0_4

    def __init__(self, model: str) -> None:
        disable_created_metrics()  # type: ignore[no-untyped-call]  # a series beside each counter that nobody asks for
        self._block_size = 1  # tokens; the engine says it when it is ready
        self._registry = CollectorRegistry()
        self._labels = (model, _ENGINE)
        self._last = _NOTHING
        self._generated = 0  # tokens since the last text
        self._answers: dict[tuple[str, int], Counter] = {}
        self._gauges()
        self._counters()
        self._histograms()

    def text(self) -> bytes:
        self._generation_tokens.inc(self._generated)  # not with every token: it takes a lock
        self._generated = 0
        return generate_latest(self._registry)

    def healthy(self, well: bool) -> None:
        self._up.set(1.0 if well else 0.0)

    def http(self, path: str, status: int) -> None:
        answers = self._answers.get((path, status))
        if answers is None:
            answers = self._answers[path, status] = self._http.labels(*self._labels, path, str(status))
        answers.inc()

    def connected(self, ready: Ready) -> None:
        self._block_size = ready.block_size
        self._cache.clear()
        self._engine.clear()
        self._engine.labels(*self._labels, ready.device, ready.code, ready.code_words).set(1)
        self._cache.labels(*self._labels, str(ready.block_size), str(ready.blocks), "True").set(1)

    def accepted(self, stream: SequenceStream) -> None:
        self._prompt_tokens.inc(stream.prompt_tokens)
        self._prompt_sizes.observe(stream.prompt_tokens)
        self._max_tokens.observe(stream.max_tokens)
        if stream.choices:
            self._choices.observe(stream.choices)

    def updated(self, stream: SequenceStream, update: Update, now: float) -> None:
        if update.queued_seconds is not None:
            self._queue.observe(update.queued_seconds)
        if not update.tokens:
            return
        count = len(update.tokens)
        self._generated += count
        stream.generated += count
        if stream.last_token is None:
            self._first.observe(now - stream.arrived)
            count -= 1
            gap = 0.0
        else:
            gap = (now - stream.last_token) / count
        if count:
            self._between.observe(gap, count)

    def ended(self, stream: SequenceStream, finish: Finish, now: float) -> None:
        self._success[finish].inc()
        self._request_latency.observe(now - stream.arrived)
        self._generation_sizes.observe(stream.generated)
        if stream.scheduled is None or stream.first_token is None or stream.last_token is None:
            return
        decode = stream.last_token - stream.first_token
        self._prefill.observe(stream.first_token - stream.scheduled)
        self._decode.observe(decode)
        self._inference.observe(stream.last_token - stream.scheduled)
        if stream.generated > 1:
            self._time_per_token.observe(decode / (stream.generated - 1))

    def stepped(self, stats: Stats) -> None:
        self._running.set(stats.running)
        self._waiting.set(stats.waiting)
        self._usage.set(stats.blocks_used / max(stats.blocks_total, 1))
        self._waste.set(stats.slots_wasted / max(stats.blocks_used * self._block_size, 1))
        last, self._last = self._last, stats
        self._preemptions.inc(stats.preemptions - last.preemptions)
        self._queries.inc(stats.prefix_queries - last.prefix_queries)
        self._hits.inc(stats.prefix_hits - last.prefix_hits)
        self._steps.inc(stats.steps - last.steps)
        self._native_steps.inc(stats.native_steps - last.native_steps)
        self._drafts.inc(stats.drafts - last.drafts)
        self._draft_tokens.inc(stats.draft_tokens - last.draft_tokens)
        self._accepted_tokens.inc(stats.accepted_tokens - last.accepted_tokens)
        if stats.accepted_at != last.accepted_at:
            for position, (now, previous) in enumerate(zip_longest(stats.accepted_at, last.accepted_at, fillvalue=0)):
                self._accepted_at.labels(*self._labels, str(position)).inc(now - previous)
        if stats.steps > last.steps:
            self._step_tokens.observe(stats.step_tokens)

    def restarted(self) -> None:
        self._restarts.inc()
        self.stepped(replace(self._last, running=0, waiting=0, blocks_used=0, slots_wasted=0))
        self._last = _NOTHING

    def _gauges(self) -> None:
        self._up = self._gauge("engine_up", "1 while the engine serves, as /health has it.")
        self._running = self._gauge("num_requests_running", "Sequences in the running batch.")
        self._waiting = self._gauge("num_requests_waiting", "Sequences that wait for their first place in a batch.")
        self._usage = self._gauge("kv_cache_usage_perc", "Share of the cache's blocks in use; 1 is all.")
        self._waste = self._gauge("kv_cache_waste_perc", "Share of the places in used blocks that hold no token.")

        self._engine = Gauge(f"{_P}engine_info", "What computes the steps.", registry=self._registry,
                             labelnames=[*_LABELS, "device", "code", "words"])  # fmt: skip
        self._cache = Gauge(f"{_P}cache_config_info", "The cache of keys and values.", registry=self._registry,
                            labelnames=[*_LABELS, "block_size", "num_gpu_blocks", "enable_prefix_caching"])  # fmt: skip

    def _counters(self) -> None:
        self._prompt_tokens = self._counter("prompt_tokens", "Tokens of accepted prompts.")
        self._generation_tokens = self._counter("generation_tokens", "Tokens generated.")
        self._queries = self._counter("prefix_cache_queries", "Prompt tokens looked up among cached blocks.")
        self._hits = self._counter("prefix_cache_hits", "Prompt tokens found there.")
        self._preemptions = self._counter("num_preemptions", "Sequences set back for want of blocks.")
        self._steps = self._counter("engine_steps", "Batches run.")
        self._native_steps = self._counter("engine_native_steps", "Of these, run as the model's own machine code.")
        self._drafts = self._counter("spec_decode_num_drafts", "Proposals of tokens that were verified.")
        self._draft_tokens = self._counter("spec_decode_num_draft_tokens", "Tokens proposed.")
        self._accepted_tokens = self._counter("spec_decode_num_accepted_tokens", "Of these, tokens that were drawn.")
        self._accepted_at = Counter(f"{_P}spec_decode_num_accepted_tokens_per_pos", "The same, by place in a proposal.",
                                    [*_LABELS, "position"], registry=self._registry)  # fmt: skip
        self._restarts = self._counter("engine_restarts", "Times that the engine's process had to be started again.")
        success = Counter(f"{_P}request_success", "Sequences ended, by reason.", [*_LABELS, "finished_reason"],
                          registry=self._registry)  # fmt: skip
        self._success = {finish: success.labels(*self._labels, finish) for finish in _FINISHES}
        self._http = Counter(f"{_P}http_requests", "Answers, by path and status.", [*_LABELS, "path", "status"],
                             registry=self._registry)  # fmt: skip

    def _histograms(self) -> None:
        self._first = self._histogram("time_to_first_token_seconds", "From arrival to the first token.", _FIRST)
        self._between = self._histogram("inter_token_latency_seconds", "Between two tokens.", _BETWEEN)
        self._request_latency = self._histogram("e2e_request_latency_seconds", "From arrival to the end.", _WHOLE)
        self._queue = self._histogram("request_queue_time_seconds", "From arrival to the first batch.", _FIRST)
        self._prefill = self._histogram(
            "request_prefill_time_seconds", "From the first batch to the first token.", _FIRST
        )
        self._decode = self._histogram("request_decode_time_seconds", "From the first token to the last.", _WHOLE)
        self._inference = self._histogram("request_inference_time_seconds", "From the first batch to the last token.",
                                          _WHOLE)  # fmt: skip
        self._time_per_token = self._histogram("request_time_per_output_token_seconds",
                                               "Mean of a request, after the first.", _BETWEEN)  # fmt: skip
        self._step_tokens = self._histogram("iteration_tokens_total", "Tokens of a step, of prompts and drawn.", _STEP)
        self._choices = self._histogram("request_params_n", "Choices that a request asks for.", _COUNTS)
        self._max_tokens = self._histogram("request_params_max_tokens", "Tokens that one may have at most.", _TOKENS)
        self._prompt_sizes = self._histogram("request_prompt_tokens", "Tokens of a prompt.", _TOKENS)
        self._generation_sizes = self._histogram("request_generation_tokens", "Tokens generated for one.", _TOKENS)

    def _gauge(self, name: str, words: str) -> Gauge:
        return Gauge(_P + name, words, _LABELS, registry=self._registry).labels(*self._labels)

    def _counter(self, name: str, words: str) -> Counter:
        return Counter(_P + name, words, _LABELS, registry=self._registry).labels(*self._labels)

    def _histogram(self, name: str, words: str, buckets: tuple[float, ...]) -> Repeated:
        histogram = Repeated(_P + name, words, buckets, labels=dict(zip(_LABELS, self._labels, strict=True)))
        self._registry.register(histogram)
        return histogram
