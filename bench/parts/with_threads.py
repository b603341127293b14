"""Tokens per second of training steps or of decoding, for so many seconds: with_threads.py train|decode SECONDS.

The environment says how many threads there are and how they wait, or leaves that to what is measured.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from gridstride.models.openmp import counts, fixed, let_waiting_threads_sleep

let_waiting_threads_sleep()

import torch  # noqa: E402  (how its threads wait is read when it is imported)


def training(seconds: float) -> float:
    from gridstride.train import trainer
    from gridstride.train.checkpoint.folder import opened
    from gridstride.train.config import run_config
    from gridstride.train.data.prepare import prepare
    from gridstride.train.pretraining import Pretraining

    with TemporaryDirectory() as folder:
        config = run_config.load(changes=(f"run.folder={folder}", "data.limit_mb=1", "run.precision=fp32"))
        data = config.data
        text = prepare(data.source, vocabulary=data.vocabulary, validation_share=0.04, limit_mb=data.limit_mb)
        made = trainer.Trainer(config, opened(config, resume=False, overwrite=False), Pretraining(config, text))

        def step() -> int:
            made.step()
            made.choose_threads()
            return config.run.batch * data.sequence

        return rate(step, seconds)


def decoding(seconds: float) -> float:
    sys.path.insert(0, str(Path(__file__).parent.parent))
    from serving_cpu import MODEL

    from gridstride.models.decoder import Decoder
    from gridstride.serve.engine.engine import Engine
    from gridstride.serve.engine.messages import Submit
    from gridstride.serve.engine.sampling import Sampling
    from gridstride.serve.engine.scheduler import Batching
    from gridstride.serve.runner.torch.threads import Threads
    from gridstride.serve.runner.torch.torch_runner import TorchRunner

    threads = None if fixed() else Threads(counts(torch.get_num_threads()))
    engine = Engine(
        TorchRunner(Decoder(MODEL).eval(), blocks=2048, block_size=8, threads=threads), Batching(max_running=8)
    )
    made = 0

    def step() -> int:
        nonlocal made
        while engine.stats().running + engine.stats().waiting < 8:
            made += 1
            engine.submit(Submit(id=str(made), prompt=(1, made), sampling=Sampling(max_tokens=200), arrived=0.0))
        return sum(len(update.tokens) for update in engine.step())

    return rate(step, seconds)


def rate(step: Callable[[], int], seconds: float) -> float:
    step()
    tokens, start = 0, time.perf_counter()
    while (passed := time.perf_counter() - start) < seconds:
        tokens += step()
    return tokens / passed


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=("train", "decode"))
    parser.add_argument("seconds", type=float)
    options = parser.parse_args()
    print(json.dumps({"train": training, "decode": decoding}[options.kind](options.seconds)))
