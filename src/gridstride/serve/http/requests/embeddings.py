"""What may be asked of texts as vectors: OpenAI's embeddings, Jina's rerank, vLLM's score."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from gridstride.serve.http.requests.generate import Prompt, prompts
from gridstride.serve.http.requests.strict import Strict
from gridstride.serve.http.settings import MAX_INPUTS

Count = Annotated[int, Field(ge=1)]


def _within_limit(value: Any) -> Any:
    tokens = prompts(value)
    if len(tokens) > MAX_INPUTS:
        raise ValueError(f"at most {MAX_INPUTS} may be given, not {len(tokens)}")
    return tokens


class EmbeddingRequest(Strict):
    model: str
    input: Annotated[tuple[Prompt, ...], BeforeValidator(_within_limit)]
    encoding_format: Literal["float", "base64"] | None = None
    dimensions: Count | None = None
    user: str | None = None  # says who asks; it changes nothing


def _texts(value: Any) -> Any:
    """Documents may be objects with a text."""
    if isinstance(value, list):
        return [part["text"] if isinstance(part, dict) and set(part) == {"text"} else part for part in value]
    return value


Texts = Annotated[list[str], Field(min_length=1, max_length=MAX_INPUTS)]


class RerankRequest(Strict):
    model: str
    query: Annotated[str, Field(min_length=1)]
    documents: Annotated[Texts, BeforeValidator(_texts)]
    top_n: Count | None = None
    return_documents: bool | None = None


def _list(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


class ScoreRequest(Strict):
    """One text and many, or as many of each."""

    model: str
    text_1: Annotated[Texts, BeforeValidator(_list)]
    text_2: Annotated[Texts, BeforeValidator(_list)]
