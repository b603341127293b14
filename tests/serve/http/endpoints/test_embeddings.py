"""Texts as vectors: /v1/embeddings, /v1/rerank and /v1/score, against the model itself."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import openai
import pytest
import torch
from live import PATIENCE, Live, real
from tiny import write_model

from gridstride.models.huggingface import folder as folders
from gridstride.models.text.tokenizer import Tokenizer

TEXTS = ["def add(a, b):\n    return a + b\n", "import os", "naïve 🙂"]


@pytest.fixture(scope="module", params=["last", "mean"])
def pooling(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, pooling: str) -> Path:
    """It says itself how it is to be pooled, as those of sentence-transformers do."""
    path = write_model(tmp_path_factory.mktemp("served") / "tiny")
    (path / "1_Pooling").mkdir()
    flags = {"pooling_mode_lasttoken": pooling == "last", "pooling_mode_mean_tokens": pooling == "mean"}
    (path / "1_Pooling" / "config.json").write_text(json.dumps({"word_embedding_dimension": 32} | flags))
    return path


@pytest.fixture(scope="module")
def live(folder: Path) -> Iterator[Live]:
    with real(folder, *"--served-name fake --max-running 8 --max-queue 4 --cache-memory 2MiB".split()) as live:
        yield live


@pytest.fixture(scope="module")
def client(live: Live) -> openai.OpenAI:
    return openai.OpenAI(base_url=f"{live.url}/v1", api_key="none", max_retries=0, timeout=PATIENCE)


def expected(folder: Path, text: str, pooling: str) -> np.ndarray:
    ids = torch.tensor(Tokenizer.load(folder).encode(text))[None]
    with torch.inference_mode():
        states = folders.load(folder)(ids)[0].float()
    state = states[-1] if pooling == "last" else states.mean(dim=0)
    return torch.nn.functional.normalize(state, dim=0).numpy()


def embed(live: Live, input: Any, **more: Any) -> Any:
    return live.post("/v1/embeddings", {"model": "fake", "input": input, **more})


def test_vectors_are_the_models_own(client: openai.OpenAI, folder: Path, pooling: str) -> None:
    """OpenAI's client asks for base64 where nobody says otherwise."""
    answer = client.embeddings.create(model="fake", input=TEXTS)
    assert [each.index for each in answer.data] == [0, 1, 2]
    for text, each in zip(TEXTS, answer.data, strict=True):
        np.testing.assert_allclose(each.embedding, expected(folder, text, pooling), atol=1e-4)
    assert answer.usage.prompt_tokens == sum(len(Tokenizer.load(folder).encode(text)) for text in TEXTS)


def test_numbers_and_base64_are_the_same(live: Live) -> None:
    plain = embed(live, "a").json()["data"][0]["embedding"]
    packed = embed(live, "a", encoding_format="base64").json()["data"][0]["embedding"]
    assert np.frombuffer(base64.b64decode(packed), "<f4").tolist() == pytest.approx(plain)
    assert np.linalg.norm(plain) == pytest.approx(1, abs=1e-5)


def test_inputs_of_every_form(live: Live, folder: Path) -> None:
    ids = Tokenizer.load(folder).encode("import os")
    forms = ["import os", ["import os"], ids, [ids]]
    vectors = [embed(live, each).json()["data"][0]["embedding"] for each in forms]
    assert vectors == [vectors[0]] * 4


def test_fewer_dimensions_are_the_first_ones(live: Live) -> None:
    whole = np.array(embed(live, "a").json()["data"][0]["embedding"])
    part = embed(live, "a", dimensions=5).json()["data"][0]["embedding"]
    assert part == pytest.approx((whole[:5] / np.linalg.norm(whole[:5])).tolist(), abs=1e-6)


def test_more_texts_than_may_run_and_wait(live: Live) -> None:
    texts = [f"text {number % 50}" for number in range(300)]
    data = embed(live, texts).json()["data"]
    assert len(data) == 300
    np.testing.assert_allclose(data[7]["embedding"], data[257]["embedding"], atol=1e-4)
    live.until(live.idle)


def test_the_nearest_document_comes_first(live: Live) -> None:
    body = {"model": "fake", "query": "import os", "documents": ["naïve", {"text": "import os"}, "def"], "top_n": 2}
    answer = live.post("/v1/rerank", body).json()
    assert answer["results"][0]["index"] == 1
    assert answer["results"][0]["document"] == {"text": "import os"}
    assert answer["results"][0]["relevance_score"] == pytest.approx(1, abs=1e-4)
    assert len(answer["results"]) == 2
    assert answer["results"][0]["relevance_score"] >= answer["results"][1]["relevance_score"]
    assert answer["usage"]["total_tokens"] > 0
    bare = live.post("/rerank", body | {"return_documents": False}).json()["results"]
    assert [set(each) for each in bare] == [{"index", "relevance_score"}] * 2


def test_scores_are_cosines(live: Live, folder: Path, pooling: str) -> None:
    one, *others = (expected(folder, text, pooling) for text in TEXTS)
    answer = live.post("/v1/score", {"model": "fake", "text_1": TEXTS[0], "text_2": TEXTS[1:]}).json()
    assert [each["score"] for each in answer["data"]] == pytest.approx([float(one @ x) for x in others], abs=1e-4)
    pairs = live.post("/score", {"model": "fake", "text_1": TEXTS, "text_2": TEXTS}).json()["data"]
    assert [each["score"] for each in pairs] == pytest.approx([1, 1, 1], abs=1e-4)


@pytest.mark.parametrize(
    ("path", "body", "param"),
    [
        ("embeddings", {"input": ""}, "input"),
        ("embeddings", {"input": []}, "input"),
        ("embeddings", {"input": ["a", ""]}, "input[1]"),
        ("embeddings", {"input": [400]}, "input"),
        ("embeddings", {"input": "a " * 400}, "input"),
        ("embeddings", {"input": ["a"] * 2049}, "input"),
        ("embeddings", {"input": "a", "dimensions": 33}, "dimensions"),
        ("embeddings", {"input": "a", "dimensions": 0}, "dimensions"),
        ("embeddings", {"input": "a", "encoding_format": "int8"}, "encoding_format"),
        ("embeddings", {"input": "a", "model": "other"}, "model"),
        ("rerank", {"query": "", "documents": ["a"]}, "query"),
        ("rerank", {"query": "a", "documents": []}, "documents"),
        ("rerank", {"query": "a", "documents": [{"image": "a"}]}, "documents[0]"),
        ("rerank", {"query": "a", "documents": ["a"], "top_n": 0}, "top_n"),
        ("score", {"text_1": ["a", "b"], "text_2": ["a", "b", "c"]}, "text_1"),
        ("score", {"text_1": "a"}, "text_2"),
    ],
)
def test_what_cannot_be_is_refused_by_name(live: Live, path: str, body: dict[str, Any], param: str) -> None:
    response = live.post(f"/v1/{path}", {"model": "fake"} | body)
    assert response.status_code in (400, 404)
    assert response.json()["error"]["param"] == param
