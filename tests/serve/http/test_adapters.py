"""`gridstride serve --adapter`: a request's model chooses; what each says is what its merged folder says."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import openai
import pytest
import torch
from live import PATIENCE, Live, real
from tiny import write_model

from gridstride.models import lora
from gridstride.models.huggingface import adapter, folder
from gridstride.models.lora import LoraConfig

PROMPTS = ("def add(", "import os", "a b c d e f g h", "return")
TEMPLATE = "{% for m in messages %}[{{ m.content }}]{% endfor %}"
LORA = LoraConfig(rank=4, alpha=8.0, targets=("q_proj", "v_proj", "up_proj"))


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A base, two adapters of it (the second with a template of its own), and the folders with each merged."""
    place = tmp_path_factory.mktemp("adapted")
    base = write_model(place / "base")
    for number, name in enumerate(("loud", "polite")):
        decoder = folder.load(base)
        torch.manual_seed(number)
        lora.add(decoder, LORA)
        for layer in lora.updated(decoder).values():
            torch.nn.init.normal_(layer.lora_B, std=0.5)
        files = {"chat_template.jinja": TEMPLATE} if name == "polite" else {}
        adapter.save(decoder, place / name, base=base, lora=LORA, files=files)
        write_model(place / f"merged-{name}")
        folder.save_state(decoder.config, lora.merged(decoder), place / f"merged-{name}")
    return place


def words(place: Path) -> list[str]:
    chosen = [f"--adapter={name}={place / name}" for name in ("loud", "polite")]
    return ["--served-name", "fake", "--cache-memory", "2MiB", *chosen]


@pytest.fixture(scope="module")
def live(place: Path) -> Iterator[Live]:
    with real(place / "base", *words(place)) as live:
        yield live


def text(live: Live, model: str, prompt: str) -> str:
    body = {"model": model, "prompt": prompt, "max_tokens": 20, "temperature": 0}
    answer: dict[str, Any] = live.post("/v1/completions", body).json()
    said: str = answer["choices"][0]["text"]
    return said


def test_each_says_what_its_merged_folder_says_all_at_once(live: Live, place: Path) -> None:
    asked = [(model, prompt) for model in ("fake", "loud", "polite") for prompt in PROMPTS] * 2
    with ThreadPoolExecutor(len(asked)) as threads:
        together = list(threads.map(lambda each: text(live, *each), asked))
    assert together[: len(asked) // 2] == together[len(asked) // 2 :]
    said = dict(zip(asked, together, strict=False))
    for name in ("loud", "polite"):
        with real(place / f"merged-{name}", "--served-name", "fake", "--cache-memory", "2MiB") as merged:
            assert [said[name, prompt] for prompt in PROMPTS] == [text(merged, "fake", prompt) for prompt in PROMPTS]
    assert len({said[model, PROMPTS[0]] for model in ("fake", "loud", "polite")}) == 3


def test_models_are_listed_with_their_base(live: Live) -> None:
    client = openai.OpenAI(base_url=f"{live.url}/v1", api_key="none", max_retries=0, timeout=PATIENCE)
    assert [model.id for model in client.models.list()] == ["fake", "loud", "polite"]
    listed = live.http.get("/v1/models").json()["data"]
    assert [model.get("parent") for model in listed] == [None, "fake", "fake"]
    assert client.models.retrieve("polite").id == "polite"
    with pytest.raises(openai.NotFoundError, match="this server has `fake`, `loud`, `polite`"):
        client.models.retrieve("quiet")
    assert live.ready["adapters"] == ["loud", "polite"]


def test_an_adapter_with_a_template_of_its_own_is_asked_by_it(live: Live) -> None:
    messages = [{"role": "user", "content": "hi"}]
    counts = {
        model: live.post("/tokenize", {"model": model, "messages": messages}).json()["tokens"]
        for model in ("fake", "loud", "polite")
    }
    assert counts["fake"] == counts["loud"] != counts["polite"]
    assert live.post("/detokenize", {"tokens": counts["polite"]}).json()["prompt"] == "[hi]"
    body = {"model": "polite", "messages": messages, "max_tokens": 4}
    answer = live.post("/v1/chat/completions", body).json()
    assert (answer["model"], answer["usage"]["prompt_tokens"]) == ("polite", len(counts["polite"]))


def test_embeddings_are_the_adapters_too(live: Live) -> None:
    vectors = [
        live.post("/v1/embeddings", {"model": model, "input": "text"}).json()["data"][0]["embedding"]
        for model in ("fake", "loud", "fake")
    ]
    assert vectors[0] == vectors[2]
    assert vectors[0] != vectors[1]
