"""`/v1/rerank` and `/v1/score`: how near texts are to one another, by the cosine of their vectors."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from starlette.types import Receive

from gridstride.serve.http.connections.disconnect import unless_gone
from gridstride.serve.http.embedding import Vectors, embedded
from gridstride.serve.http.endpoint import Endpoint
from gridstride.serve.http.errors import ApiError
from gridstride.serve.http.identifiers import new_id
from gridstride.serve.http.requests.embeddings import RerankRequest, ScoreRequest
from gridstride.serve.http.state import Server


async def rerank(server: Server, body: RerankRequest, receive: Receive) -> dict[str, Any]:
    """The documents, the nearest to the query first."""
    server.check_model(body.model)
    query, tokens = await unless_gone(receive, _vectors(server, [body.query], "query", body.model))
    documents, more = await unless_gone(receive, _vectors(server, body.documents, "documents", body.model))
    scores = np.clip(documents @ query[0], -1, 1)  # of vectors that are rounded, a cosine can be above 1
    order = np.argsort(-scores, kind="stable")[: body.top_n].tolist()
    results = [
        {"index": index, "relevance_score": float(scores[index])}
        | ({} if body.return_documents is False else {"document": {"text": body.documents[index]}})
        for index in order
    ]
    usage = {"prompt_tokens": tokens + more, "total_tokens": tokens + more}
    return {"id": f"rerank-{new_id()}", "model": body.model, "results": results, "usage": usage}


async def score(server: Server, body: ScoreRequest, receive: Receive) -> dict[str, Any]:
    """A number from -1 to 1 for each pair."""
    server.check_model(body.model)
    if len(body.text_1) not in (1, len(body.text_2)):
        message = (
            f"'text_1' has {len(body.text_1)} texts, 'text_2' {len(body.text_2)}: one and many, or as many of each."
        )
        raise ApiError(message, param="text_1", code="invalid_value")
    first, tokens = await unless_gone(receive, _vectors(server, body.text_1, "text_1", body.model))
    second, more = await unless_gone(receive, _vectors(server, body.text_2, "text_2", body.model))
    scores = np.clip((first * second).sum(axis=-1), -1, 1).tolist()
    usage = {"prompt_tokens": tokens + more, "total_tokens": tokens + more}
    return {
        "id": f"score-{new_id()}",
        "object": "list",
        "created": int(time.time()),
        "model": body.model,
        "data": [{"index": index, "object": "score", "score": value} for index, value in enumerate(scores)],
        "usage": usage,
    }


ENDPOINTS = (
    *(Endpoint(path, RerankRequest, rerank) for path in ("/rerank", "/v1/rerank", "/v2/rerank")),
    *(Endpoint(path, ScoreRequest, score) for path in ("/score", "/v1/score")),
)


async def _vectors(server: Server, texts: list[str], param: str, model: str | None) -> tuple[Vectors, int]:
    """The texts' vectors, and how many tokens they have together."""
    prompts = [await server.prepare.text(text) for text in texts]
    return await embedded(server, prompts, param=param, adapter=server.adapter(model)), sum(map(len, prompts))
