"""What binding an answer costs the engine: compiling, and the mask of a token, in free text and in arguments.

    python bench/answer_grammars.py [--folder MODEL]

For each form of calls, eight tools of five arguments each. Without a folder the tokenizer is a byte-level BPE of 32,000
tokens, trained on the Python standard library. A step waits for the masks of all its sequences, one after the other.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sysconfig
import tempfile
import time
from pathlib import Path
from typing import Any

import common
import numpy as np

from gridstride.models.text.tokenizer import Tokenizer
from gridstride.serve.answers.formats import FORMATS, CallFormat
from gridstride.serve.answers.grammar import Calls, grammar
from gridstride.serve.engine.grammar import Grammar, Grammars

VOCABULARY, FILES = 32_000, 300
KINDS = ({"type": "string"}, {"type": "integer"}, {"enum": ["small", "large"]}, {"type": "boolean"},
         {"type": "array", "items": {"type": "number"}})  # fmt: skip
ARGUMENTS = {"a0": "it is so", "a1": 12, "a2": "large", "a3": True, "a4": [1.5, 2, 3.25]}
TEXT = "The grid has one thread for each element, and each thread reads one element of every array. " * 8
TARGET_US = 300.0  # a decoding step of a small model on a CPU takes several milliseconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path)
    given = parser.parse_args().folder
    started = common.machine()
    with tempfile.TemporaryDirectory() as made:
        folder = given or _tokenizer(Path(made))
        tokenizer = Tokenizer.load(folder)
        grammars = Grammars(folder, vocabulary=tokenizer.vocabulary, eos=frozenset(tokenizer.eos or {0}))
        grammars.prepare("regex:a")  # the tokenizer is read
        rows = [_measured(form, tokenizer, grammars) for form in FORMATS]
    common.publish("answer_grammars", rows, started)


def _measured(form: CallFormat, tokenizer: Tokenizer, grammars: Grammars) -> common.Row:
    lark = f"lark:{grammar(calls=_calls(form), thoughts=None, content=None, id=lambda mark: None)}"
    begun = time.perf_counter()
    grammars.prepare(lark)
    compiled = time.perf_counter() - begun
    free = _masks(grammars.start(lark), tokenizer, TEXT)
    call, start = _call(form)
    bound = _masks(grammars.start(lark), tokenizer, call)[len(tokenizer.encode(call[:start], special=False)) :]
    detail = {"compile_ms": compiled * 1e3, "free_us": _figures(free), "arguments_us": _figures(bound),
              "vocabulary": tokenizer.vocabulary}  # fmt: skip
    worst = max(statistics.median(free), statistics.median(bound)) * 1e6
    figure = f"{statistics.median(free) * 1e6:.0f} µs in text, {statistics.median(bound) * 1e6:.0f} µs in arguments"
    return common.Row(
        f"{form.name}: a token's mask", f"{figure}, {compiled * 1e3:.0f} ms to compile", f"≤ {TARGET_US:.0f} µs",
        worst <= TARGET_US, detail=detail,
    )  # fmt: skip


def _calls(form: CallFormat) -> Calls:
    properties = {f"a{place}": kind for place, kind in enumerate(KINDS)}
    schema: dict[str, Any] = {"type": "object", "properties": properties, "required": [*properties]}
    tools = [(f"tool_{number}", {**schema, "additionalProperties": False}) for number in range(8)]
    return Calls(format=form, tools=tools, must=False, several=True)


def _call(form: CallFormat) -> tuple[str, int]:
    """A call of the last tool as the model writes it, and where its arguments begin."""
    parts = {
        "hermes": '<tool_call>\n{"name": "tool_7", "arguments": ',
        "llama3": '{"name": "tool_7", "parameters": ',
        "mistral": '[TOOL_CALLS] [{"name": "tool_7", "arguments": ',
        "mistral-args": "[TOOL_CALLS]tool_7[ARGS]",
    }
    return parts[form.name] + json.dumps(ARGUMENTS), len(parts[form.name])


def _masks(state: Grammar, tokenizer: Tokenizer, text: str) -> list[float]:
    """Seconds of each token's mask."""
    seconds = []
    for token in tokenizer.encode(text, special=False):
        begun = time.perf_counter()
        mask = state.mask()
        seconds.append(time.perf_counter() - begun)
        assert mask[token // 32] >> (token % 32) & 1, (text, tokenizer.token(token))
        state.take(token)
    return seconds


def _figures(seconds: list[float]) -> dict[str, float]:
    median, high = np.percentile(seconds, (50, 95))
    return {"median": float(median) * 1e6, "p95": float(high) * 1e6, "max": max(seconds) * 1e6}


def _tokenizer(folder: Path) -> Path:
    import tokenizers
    from tokenizers import decoders, models, pre_tokenizers, trainers

    made = tokenizers.Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY, special_tokens=["<|end|>"], initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )  # fmt: skip
    files = sorted(Path(sysconfig.get_paths()["stdlib"]).glob("*.py"))[:FILES]
    made.train([str(file) for file in files], trainer)
    made.save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text(json.dumps({"eos_token": "<|end|>"}))
    return folder


if __name__ == "__main__":
    main()
