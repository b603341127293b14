"""How likely a prompt was: `echo` with `logprobs`, vLLM's `prompt_logprobs`, and a harness that scores with them."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from live import Live, real
from tiny import write_model

from gridstride.models.huggingface import folder as folders
from gridstride.models.text.tokenizer import Tokenizer

PROMPT = "def add(a, b):\n    return"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path: Path = tmp_path_factory.mktemp("served") / "tiny"
    return write_model(path, context=512)


@pytest.fixture(scope="module")
def live(folder: Path) -> Iterator[Live]:
    with real(folder, *"--served-name fake --max-running 8 --cache-memory 4MiB".split()) as live:
        yield live


@pytest.fixture(scope="module")
def tokenizer(folder: Path) -> Tokenizer:
    return Tokenizer.load(folder)


@pytest.fixture(scope="module")
def truth(folder: Path, tokenizer: Tokenizer) -> torch.Tensor:
    """[T, vocabulary] log-probabilities of what follows each of the prompt's tokens."""
    decoder = folders.load(folder)
    with torch.inference_mode():
        return decoder.logits(decoder(torch.tensor(tokenizer.encode(PROMPT))[None]))[0].float().log_softmax(dim=-1)


def complete(live: Live, **body: Any) -> Any:
    return live.complete(PROMPT, temperature=0, **body).json()


def test_echo_gives_the_prompts_tokens_their_logprobs(live: Live, tokenizer: Tokenizer, truth: torch.Tensor) -> None:
    (choice,) = complete(live, echo=True, logprobs=2, max_tokens=3)["choices"]
    ids, given = tokenizer.encode(PROMPT), choice["logprobs"]
    assert choice["text"].startswith(PROMPT)
    assert "".join(given["tokens"][: len(ids)]) == PROMPT
    assert len(given["token_logprobs"]) == len(ids) + 3 == len(given["top_logprobs"])
    assert given["token_logprobs"][0] is given["top_logprobs"][0] is None
    for place, token in enumerate(ids[1:]):
        assert given["token_logprobs"][place + 1] == pytest.approx(float(truth[place, token]), abs=1e-3)
        likeliest = max(given["top_logprobs"][place + 1].values())
        assert likeliest == pytest.approx(float(truth[place].max()), abs=1e-3)
        assert given["tokens"][place + 1] in given["top_logprobs"][place + 1]
    assert given["text_offset"][-1] == len("".join(given["tokens"][:-1]))


def test_no_token_need_be_drawn(live: Live, tokenizer: Tokenizer) -> None:
    answer = complete(live, echo=True, logprobs=0, max_tokens=0)
    (choice,) = answer["choices"]
    assert choice["text"] == PROMPT
    assert len(choice["logprobs"]["tokens"]) == len(tokenizer.encode(PROMPT))
    assert answer["usage"]["completion_tokens"] == 0


def test_streamed_and_whole_are_the_same(live: Live) -> None:
    body = {"echo": True, "logprobs": 1, "max_tokens": 3, "n": 2}
    whole = complete(live, **body)["choices"]
    text = live.complete(PROMPT, temperature=0, stream=True, **body).text
    found: list[Any] = [{"text": "", "tokens": [], "text_offset": []} for _ in range(2)]
    for line in text.split("\n\n")[:-2]:
        for choice in json.loads(line[6:])["choices"]:
            mine = found[choice["index"]]
            mine["text"] += choice["text"]
            for name in ("tokens", "text_offset"):
                mine[name] += choice["logprobs"][name]
    assert [each["text"] for each in found] == [each["text"] for each in whole]
    for name in ("tokens", "text_offset"):
        assert [each[name] for each in found] == [each["logprobs"][name] for each in whole]


def test_vllms_prompt_logprobs(live: Live, tokenizer: Tokenizer, truth: torch.Tensor) -> None:
    (choice,) = complete(live, prompt_logprobs=1, max_tokens=2)["choices"]
    ids, given = tokenizer.encode(PROMPT), choice["prompt_logprobs"]
    assert given[0] is None
    assert len(given) == len(ids)
    for place, token in enumerate(ids[1:]):
        mine = given[place + 1][str(token)]
        assert mine["logprob"] == pytest.approx(float(truth[place, token]), abs=1e-3)
        assert mine["rank"] == int((truth[place] > truth[place, token]).sum()) + 1
        assert str(int(truth[place].argmax())) in given[place + 1]
    body = {"model": "fake", "messages": [{"role": "user", "content": "hi"}], "prompt_logprobs": 0, "max_tokens": 1}
    answer = live.post("/v1/chat/completions", body).json()
    assert len(answer["prompt_logprobs"]) == answer["usage"]["prompt_tokens"]


@pytest.mark.parametrize(
    "body", [{"prompt_logprobs": 21}, {"prompt_logprobs": -1}, {"prompt_logprobs": 1, "stream": True}]
)
def test_what_cannot_be_is_refused_by_name(live: Live, body: dict[str, Any]) -> None:
    response = live.complete(PROMPT, **body)
    assert (response.status_code, response.json()["error"]["param"]) == (400, "prompt_logprobs")


def test_the_evaluation_harness_scores_with_it(live: Live, folder: Path, truth: torch.Tensor) -> None:
    """lm-evaluation-harness' own client, `local-completions`, on requests such as its tasks make."""
    openai_completions = pytest.importorskip("lm_eval.models.openai_completions", reason="lm-eval is not installed")
    instance = pytest.importorskip("lm_eval.api.instance").Instance
    harness = openai_completions.LocalCompletionsAPI(
        base_url=f"{live.url}/v1/completions", model="fake", tokenizer_backend="huggingface", tokenizer=str(folder),
        num_concurrent=1, max_length=512, batch_size=2,
    )  # fmt: skip
    context, followings = PROMPT[:14], [PROMPT[14:], " import", "x"]
    requests = [
        instance(request_type="loglikelihood", doc={}, arguments=(context, each), idx=place)
        for place, each in enumerate(followings)
    ]
    found = harness.loglikelihood(requests, disable_tqdm=True)
    ids = Tokenizer.load(folder).encode(PROMPT)
    before = len(Tokenizer.load(folder).encode(context))
    wanted = sum(float(truth[place - 1, ids[place]]) for place in range(before, len(ids)))
    assert found[0][0] == pytest.approx(wanted, abs=1e-2)
    assert len(found) == 3
    words = (PROMPT, {"until": ["zz"], "max_gen_toks": 5})
    asked = instance(request_type="generate_until", doc={}, arguments=words, idx=0)
    (until,) = harness.generate_until([asked], disable_tqdm=True)
    assert until == live.complete(PROMPT, max_tokens=5, temperature=0).json()["choices"][0]["text"]


def test_the_harness_and_our_own_evaluation_agree(live: Live, folder: Path, tmp_path: Path) -> None:
    """A task of multiple choice on a local file: lm-evaluation-harness over HTTP, `gridstride evaluate` without."""
    lm_eval = pytest.importorskip("lm_eval", reason="lm-eval is not installed")
    file = tmp_path / "questions.jsonl"
    words = ["os", "sys", "def", "add", "return", "print"]
    rows = [
        {"prompt": f"import {a}\ndef {b}", "choices": [f"{c}()", f"({a}, {b})", c * 3], "answer": len(a + b + c) % 3}
        for a in words for b in words[:3] for c in words[3:]
    ]  # fmt: skip
    file.write_text("\n".join(map(json.dumps, rows)))
    task = {
        "task": "mine", "dataset_path": "json", "dataset_kwargs": {"data_files": {"test": str(file)}},
        "test_split": "test", "output_type": "multiple_choice", "doc_to_text": "{{prompt}}", "doc_to_choice": "choices",
        "doc_to_target": "answer", "target_delimiter": " ",
        "metric_list": [
            {"metric": name, "aggregation": "mean", "higher_is_better": True} for name in ("acc", "acc_norm")
        ],
    }  # fmt: skip
    arguments = f"base_url={live.url}/v1/completions,model=fake,tokenizer={folder},num_concurrent=1,max_length=512"
    found = lm_eval.simple_evaluate(model="local-completions", model_args=arguments, tasks=[task], bootstrap_iters=0)
    theirs = found["results"]["mine"]
    words_of_ours = [sys.executable, "-m", "gridstride", "evaluate", str(folder), "--data", str(file), "--json"]
    done = subprocess.run(words_of_ours, capture_output=True, text=True, check=True)
    (ours,) = json.loads(done.stdout)["tasks"]
    assert ours["questions"] == len(rows)
    assert ours["accuracy"] == pytest.approx(theirs["acc,none"])
    assert ours["accuracy_per_byte"] == pytest.approx(theirs["acc_norm,none"])
