"""What HTTP costs: the real server in front of an engine that thinks nothing, under the real load.

    python bench/serving_http.py [--requests 1024] [--seconds-a-call 0.013] [--against REVISION]

The engine gives every running sequence eight tokens a call, as on a GPU; what is left is JSON, text, metrics and
sockets. Processor time of the server's process and of the load's, for a request of one token and for a further token,
by two runs: one of single tokens, one of mixed lengths. Where there are two cores, the load has one to itself. What a
further token costs hangs on how many come at a time, and that on who is faster; so the server's two parts that see
every token, text and metrics, are timed alone as well, eight tokens at a time; and 256 streams run behind an engine so
slow that nothing piles up, which says what an event of eight tokens costs. `--against`: the server of another revision
stands beside this one and gets the same load in turn, so that both have the machine as it is in that minute.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import common
import numpy as np

from gridstride.serve.engine.batch import Batch, RunnerCode, Sampled
from gridstride.serve.engine.engine import Engine
from gridstride.serve.engine.scheduler import Batching
from gridstride.serve.process.protocol import Build, Ready

VOCABULARY, CONTEXT, BLOCKS, BLOCK, RUNNING, STEPS = 2000, 4096, 20_000, 16, 256, 8
MIXED, ONE = "lognormal:90:1.1:512", "1"
REPEATS, UPDATES = 3, 500
STEADY_SECONDS, STEADY_STREAMS, STEADY = 0.2, 256, "129"  # a call, and tokens of a stream: 16 events after the first


class Nothing:
    """A runner that waits, and then says tokens that are words."""

    steps = steps_alone = STEPS
    blocks, block_size, context, vocabulary = BLOCKS, BLOCK, CONTEXT, VOCABULARY
    width = adapters = 0
    verifies = False
    code = RunnerCode("pytorch", "")

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    def execute(self, batch: Batch) -> Sampled:
        time.sleep(self._seconds * batch.steps / STEPS)
        count = len(batch.draws)
        tokens = np.arange(count * batch.steps).reshape(count, batch.steps) * 7 % (VOCABULARY - 300) + 300
        return Sampled(tokens.astype(np.int64), (None,) * count)


def engine(*, seconds: float) -> tuple[Engine, Ready]:
    """Made in the engine's process."""
    made = Engine(Nothing(seconds), Batching(max_running=RUNNING, max_batch_tokens=2048))
    return made, Ready(context=CONTEXT, blocks=BLOCKS, block_size=BLOCK, vocabulary=VOCABULARY, max_running=RUNNING,
                       device="none")  # fmt: skip


def serve(folder: str, seconds: float) -> None:
    """The server's process: says its address, and ends with SIGTERM."""
    from gridstride.models.text.tokenizer import Tokenizer
    from gridstride.serve.http import lifecycle
    from gridstride.serve.http.connections.listen import listening, url_of
    from gridstride.serve.http.settings import Settings
    from gridstride.serve.process.child import EngineProcess

    build = Build(factory="serving_http:engine", options={"seconds": seconds})
    settings = Settings(names=("nothing",))
    listener = listening("127.0.0.1", 0, patience=settings.write_timeout)
    lifecycle.run(
        build, Tokenizer.load(folder), listener, settings=settings, max_queue=1 << 16, first=EngineProcess(build),
        on_ready=lambda server: print(url_of(listener), flush=True),
    )  # fmt: skip


def write_tokenizer(folder: Path) -> None:
    from gridstride.train.config import run_config
    from gridstride.train.data import corpus, tokenizer

    texts = (
        document.text for document, _ in zip(corpus.documents(run_config.load().data.source), range(100), strict=False)
    )
    for name, text in tokenizer.files(tokenizer.train(texts, vocabulary=VOCABULARY), context=CONTEXT).items():
        (folder / name).write_text(text)


def parts(folder: str) -> dict[str, float]:
    """Microseconds a token for its text and for its place in the metrics, in an update of STEPS tokens."""
    from gridstride.models.text.tokenizer import Tokenizer
    from gridstride.serve.client.output import RequestOutput
    from gridstride.serve.engine.messages import Update
    from gridstride.serve.engine.sampling import Sampling
    from gridstride.serve.http.metrics import Metrics
    from gridstride.serve.process.client import SequenceRequest, SequenceStream

    tokenizer, metrics = Tokenizer.load(folder), Metrics("nothing")
    stream = SequenceStream(SequenceRequest("a", (1,), Sampling()), 0.0, asyncio.Event())
    stream.last_token = 0.0
    words = [int(word) for word in np.random.default_rng(0).integers(300, VOCABULARY, STEPS * UPDATES)]
    updates = [Update(id="a", tokens=tuple(words[i : i + STEPS])) for i in range(0, len(words), STEPS)]

    def text() -> None:
        output = RequestOutput(tokenizer)
        for update in updates:
            output.push(update)

    def noted() -> None:
        for update in updates:
            metrics.updated(stream, update, 0.01)

    found = {}
    for name, work in (("text_us", text), ("metrics_us", noted)):
        times = []
        for _ in range(9):
            start = time.process_time()
            work()
            times.append(time.process_time() - start)
        found[name] = statistics.median(times) / len(words) * 1e6
    return found


def processor_seconds(process: int) -> float:
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def own_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def under_load(server: subprocess.Popen[str], url: str, requests: int, outputs: str) -> dict[str, float]:
    """Tokens, seconds on the clock, and of the processor for the server and for the load."""
    from gridstride.serve.load.lengths import lengths
    from gridstride.serve.load.load_run import Load, run

    load = Load(requests=requests, concurrency=requests, prompt_lengths=lengths(MIXED), output_lengths=lengths(outputs),
                temperature=0.0)  # fmt: skip
    before = processor_seconds(server.pid), own_seconds()
    figures: dict[str, Any] = asyncio.run(run(url, load))
    after = processor_seconds(server.pid), own_seconds()
    assert figures["succeeded"] == requests, figures["errors"]
    return {"tokens": figures["output_tokens"], "seconds": figures["seconds"], "server": after[0] - before[0],
            "load": after[1] - before[1]}  # fmt: skip


def environment(tree: Path) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": f"{tree / 'src'}{os.pathsep}{tree / 'bench'}"}


@contextmanager
def served(folder: str, tree: Path, seconds: float) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The server of a tree, as that tree's own script starts it, and its address."""
    script = tree / "bench" / Path(__file__).name
    command = [sys.executable, str(script), "--serve", folder, "--seconds-a-call", str(seconds)]
    if len(common.CORES) > 1:
        command = ["taskset", "-c", ",".join(map(str, common.CORES[1:])), *command]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment(tree)) as server:
        try:
            assert server.stdout is not None
            url = server.stdout.readline().strip()
            if not url:
                raise SystemExit("the server did not start; what it said stands above")
            yield server, url
        finally:
            server.terminate()


def extract(revision: str, folder: Path) -> Path:
    """A revision's package and benchmarks."""
    archive = subprocess.run(
        ["git", "archive", revision, "src", "bench"], cwd=common.ROOT, capture_output=True, check=True
    )
    subprocess.run(["tar", "-x", "-C", str(folder)], input=archive.stdout, check=True)
    return folder


def parts_of(folder: str, tree: Path) -> dict[str, float]:
    """What the tree's own `parts` finds."""
    code = f"import json, serving_http; print(json.dumps(serving_http.parts({folder!r})))"
    told = subprocess.run([sys.executable, "-c", code], env=environment(tree), stdout=subprocess.PIPE, check=True)
    found: dict[str, float] = json.loads(told.stdout)
    return found


def figures(runs: Mapping[str, list[dict[str, float]]], alone: Mapping[str, float]) -> dict[str, Any]:
    """Of one server, from the medians of its runs."""
    one, mixed = ({key: statistics.median(run[key] for run in runs[outputs]) for key in runs[outputs][0]}
                  for outputs in (ONE, MIXED))  # fmt: skip
    made: dict[str, Any] = {"tokens_per_second": mixed["tokens"] / mixed["seconds"], "parts": dict(alone)}
    for who in ("server", "load"):
        made[who] = {
            "request_us": one[who] / one["tokens"] * 1e6,
            "token_us": (mixed[who] - one[who]) / (mixed["tokens"] - one["tokens"]) * 1e6,
        }
    return made | {"runs": dict(runs)}


def steady(folder: str, tree: Path, repeats: int) -> float:
    """Microseconds of the server's processor for an event of STEPS tokens, where each goes out by itself."""
    with served(folder, tree, STEADY_SECONDS) as (server, url):
        under_load(server, url, STEADY_STREAMS, ONE)
        found = []
        for _ in range(repeats):
            one, many = (under_load(server, url, STEADY_STREAMS, outputs) for outputs in (ONE, STEADY))
            found.append((many["server"] - one["server"]) / (many["tokens"] - one["tokens"]) * STEPS * 1e6)
        return statistics.median(found)


def rows(name: str, made: Mapping[str, Any]) -> list[common.Row]:
    alone = made["parts"]
    return [
        common.Row(f"{name}: through HTTP", f"{made['tokens_per_second']:.0f} tok/s"),
        *(common.Row(f"{name}: the {who}'s process", f"{made[who]['request_us']:.0f} us a request, "
                     f"{made[who]['token_us']:.1f} us a token") for who in ("server", "load")),
        common.Row(f"{name}: an event of {STEPS} tokens by itself", f"{made['event_us']:.1f} us"),
        common.Row(f"{name}: eight tokens at a time",
                   f"{alone['text_us']:.1f} us a token for text, {alone['metrics_us']:.2f} for metrics"),
    ]  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=1024)
    parser.add_argument("--seconds-a-call", type=float, default=0.013)
    parser.add_argument("--repeats", type=int, default=REPEATS)
    parser.add_argument("--against", metavar="REVISION")
    parser.add_argument("--serve", metavar="FOLDER", help=argparse.SUPPRESS)
    parser.add_argument("--results", type=Path, default=common.RESULTS)
    words = parser.parse_args()
    if words.serve:
        serve(words.serve, words.seconds_a_call)
        return
    started = common.machine()
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        write_tokenizer(Path(folder))
        trees = {"now": common.ROOT}
        if words.against:
            before = stack.enter_context(tempfile.TemporaryDirectory())
            trees["before"] = extract(words.against, Path(before))
        alone = {name: parts_of(folder, tree) for name, tree in trees.items()}
        if len(common.CORES) > 1:
            os.sched_setaffinity(0, {common.CORES[0]})
        servers = {
            name: stack.enter_context(served(folder, tree, words.seconds_a_call)) for name, tree in trees.items()
        }
        for server, url in servers.values():
            under_load(server, url, words.requests, ONE)  # what is slow once
        runs: dict[str, dict[str, list[dict[str, float]]]] = {name: {ONE: [], MIXED: []} for name in servers}
        for _ in range(words.repeats):
            for outputs in (ONE, MIXED):
                for name, (server, url) in servers.items():
                    runs[name][outputs].append(under_load(server, url, words.requests, outputs))
        made = {
            name: {**figures(runs[name], alone[name]), "event_us": steady(folder, tree, words.repeats)}
            for name, tree in trees.items()
        }
    print(common.table([row for name in made for row in rows(name, made[name])]))
    result = {"requests": words.requests, **made["now"]}
    if words.against:
        result["before"] = {"revision": words.against, **made["before"]}
    print(common.save("serving_http", result, started=started, folder=words.results))


if __name__ == "__main__":
    main()
