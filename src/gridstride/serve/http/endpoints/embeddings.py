"""`/v1/embeddings`: texts as vectors."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
from numpy.typing import NDArray
from starlette.types import Receive

from gridstride.serve.http.connections.disconnect import unless_gone
from gridstride.serve.http.embedding import embedded, normalised
from gridstride.serve.http.endpoint import Endpoint
from gridstride.serve.http.errors import ApiError
from gridstride.serve.http.requests.embeddings import EmbeddingRequest
from gridstride.serve.http.state import Server


async def embeddings(server: Server, body: EmbeddingRequest, receive: Receive) -> dict[str, Any]:
    """A vector of length 1 for each text."""
    server.check_model(body.model)
    return await unless_gone(receive, _answer(server, body))


ENDPOINTS = (Endpoint("/v1/embeddings", EmbeddingRequest, embeddings),)


async def _answer(server: Server, body: EmbeddingRequest) -> dict[str, Any]:
    width = server.ready.width
    if body.dimensions is not None and body.dimensions > width > 0:
        message = f"'dimensions' is {body.dimensions}, but the model's vectors have {width}."
        raise ApiError(message, param="dimensions", code="invalid_value")
    prompts = [p if isinstance(p, tuple) else await server.prepare.text(p) for p in body.input]
    vectors = await embedded(server, prompts, param="input", adapter=server.adapter(body.model))
    if body.dimensions is not None:
        vectors = normalised(vectors[:, : body.dimensions])
    written = _base64 if body.encoding_format == "base64" else _numbers
    data = [{"object": "embedding", "index": i, "embedding": written(vector)} for i, vector in enumerate(vectors)]
    tokens = sum(map(len, prompts))
    usage = {"prompt_tokens": tokens, "total_tokens": tokens}
    return {"object": "list", "data": data, "model": body.model, "usage": usage}


def _base64(vector: NDArray[np.float32]) -> str:
    return base64.b64encode(vector.astype("<f4").tobytes()).decode()


def _numbers(vector: NDArray[np.float32]) -> list[float]:
    numbers: list[float] = vector.tolist()
    return numbers
