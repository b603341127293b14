"""The engine on one thread of a CPU, asked by lines: `serve_lines.py FOLDER fp32|bf16|int8 native|plain`.

A line of stdin is a request {"prompts", "tokens"}: lists of tokens, all at once, and how many shall follow each. A line
of stdout answers {"seconds", "processor_seconds", "tokens"}. `plain`: PyTorch's operators, as they are.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from typing import Any

import torch

from gridstride.models.huggingface import folder as folders
from gridstride.serve.engine.batch import Runner
from gridstride.serve.engine.engine import Engine
from gridstride.serve.engine.messages import Submit
from gridstride.serve.engine.sampling import Sampling
from gridstride.serve.engine.scheduler import Batching
from gridstride.serve.runner import build
from gridstride.serve.runner.torch.torch_runner import TorchRunner

KINDS: dict[str, dict[str, Any]] = {
    "fp32": {"dtype": torch.float32},
    "bf16": {"dtype": torch.bfloat16},
    "int8": {"dtype": torch.float32, "quantization": "int8"},
}
MOST = 8  # requests at a time
BLOCKS = 1024


def made(folder: str, kind: str, how: str) -> Runner:
    if how == "native":
        return build.runner(folder, build.RunnerOptions(device="cpu", memory=256 << 20, **KINDS[kind]))
    return TorchRunner(folders.load(folder, **KINDS[kind]), blocks=BLOCKS, block_size=build.BLOCK_SIZE)


def answer(runner: Runner, prompts: list[list[int]], tokens: int) -> list[list[int]]:
    engine = Engine(runner, Batching(max_running=MOST, prefix_reuse=False))
    texts: list[list[int]] = [[] for _ in prompts]
    for number, prompt in enumerate(prompts):
        sampling = Sampling(max_tokens=tokens, temperature=0.0, ignore_eos=True)
        engine.submit(Submit(id=str(number), prompt=tuple(prompt), sampling=sampling, arrived=time.monotonic()))
    while not engine.idle:
        for update in engine.step():
            texts[int(update.id)].extend(update.tokens)
    return texts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("how", choices=("native", "plain"))
    options = parser.parse_args()
    torch.set_num_threads(1)
    runner = made(options.folder, options.kind, options.how)
    print(json.dumps({"system": f"PyTorch {torch.__version__}"}), flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        start, used = time.perf_counter(), time.process_time()
        texts = answer(runner, request["prompts"], request["tokens"])
        seconds, processor = time.perf_counter() - start, time.process_time() - used
        print(json.dumps({"seconds": seconds, "processor_seconds": processor, "tokens": texts}), flush=True)


if __name__ == "__main__":
    main()
