"""From `gridstride serve` to its first answer, on the CPU, for the default model's size and for a larger one.

    python bench/serve_startup.py [--repeats N]

Wall time is worth what the machine's load allows; processor time (server and engine together) is there beside it.
Writes serve_startup.json.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from dataclasses import replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))

from common import ROOT, Row, machine, publish

TARGET = 5.0  # seconds
SIZES: dict[str, dict[str, Any]] = {
    "default": {},
    "larger": {"width": 384, "layers": 6, "heads": 6, "kv_heads": 6, "hidden": 1024},
}


def write_model(folder: Path, sizes: dict[str, Any]) -> int:
    """A model of the default configuration with random weights; how many they are."""
    from gridstride.models.decoder import Decoder
    from gridstride.models.huggingface import folder as folders
    from gridstride.train.config import run_config
    from gridstride.train.data import corpus, tokenizer
    from gridstride.train.model import initialise, shape

    settings = run_config.load()
    settings = replace(settings, model=replace(settings.model, **sizes))
    texts = (document.text for document, _ in zip(corpus.documents(settings.data.source), range(200), strict=False))
    words = tokenizer.train(texts, vocabulary=settings.data.vocabulary)
    decoder = Decoder(shape(settings, words.get_vocab_size()))
    initialise(decoder)
    files = tokenizer.files(words, context=decoder.config.context)
    folders.save(decoder, folder, eos=(words.token_to_id(tokenizer.END),), files=files)
    return decoder.config.parameters()


def start(folder: Path) -> dict[str, float]:
    """Seconds to the line that says ready, to the first answer, and of processors until then."""
    command = [sys.executable, "-m", "gridstride", "serve", str(folder), "--port", "0", "--json", "--device", "cpu"]
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    began = time.perf_counter()
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment
    ) as server:
        try:
            assert server.stdout is not None
            ready = json.loads(server.stdout.readline())
            said = time.perf_counter() - began
            ask(ready["url"], ready["models"][0])
            answered = time.perf_counter() - began
            used = cpu_seconds(server.pid), cpu_seconds(ready["engine_pid"])
        finally:
            server.terminate()
    return {"ready": said, "answered": answered, "server_cpu": used[0], "engine_cpu": used[1], "cpu": sum(used)}


def ask(url: str, model: str) -> None:
    body = json.dumps({"model": model, "prompt": "def ", "max_tokens": 8}).encode()
    request = urllib.request.Request(f"{url}/v1/completions", body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=100) as answer:
        assert json.load(answer)["usage"]["completion_tokens"] >= 1


def cpu_seconds(pid: int) -> float:
    """Of all threads of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measured(name: str, repeats: int) -> Row:
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch, name)
        parameters = write_model(folder, SIZES[name])
        start(folder)  # brings the files into memory
        runs = [start(folder) for _ in range(repeats)]
    middle: dict[str, Any] = {key: statistics.median(run[key] for run in runs) for key in runs[0]}
    return Row(
        f"{name}, {parameters / 1e6:.1f} M parameters",
        f"{middle['answered']:.2f} s to the first answer, {middle['cpu']:.2f} s of processors",
        f"{TARGET:g} s",
        middle["answered"] < TARGET,
        detail={"parameters": parameters, "median": middle, "runs": runs},
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=5)
    repeats = parser.parse_args().repeats
    started = machine()
    publish("serve_startup", [measured(name, repeats) for name in SIZES], started)


if __name__ == "__main__":
    main()
