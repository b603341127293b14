"""Texts to vectors: prompts of which the engine gives the hidden state, a few hundred at a time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from gridstride.serve.engine.sampling import Sampling
from gridstride.serve.http.errors import ApiError, sentence
from gridstride.serve.http.identifiers import new_id
from gridstride.serve.http.state import Server
from gridstride.serve.process.client import RequestGroup, RequestRefused, SequenceRequest

_AT_ONCE = 256  # so that a request of thousands leaves room in the queue for others
Vectors = NDArray[np.float32]


async def embedded(server: Server, prompts: Sequence[tuple[int, ...]], *, param: str, adapter: int = 0) -> Vectors:
    """[prompts, width] vectors of length 1; ApiError, with `param` as the field, for what cannot be."""
    ready = server.ready
    if not ready.width:
        raise ApiError("This engine gives no embeddings.", param="model", code="unsupported_model")
    longest = min(ready.context, ready.blocks * ready.block_size)
    for index, prompt in enumerate(prompts):
        at = f"{param}[{index}]" if len(prompts) > 1 else param
        if not prompt:
            raise ApiError("The text has no token; at least one is needed.", param=at, code="invalid_value")
        if len(prompt) > longest:
            message = f"This model takes texts of {longest} tokens, but this one has {len(prompt)}."
            raise ApiError(message, param=at, code="context_length_exceeded")
        if max(prompt) >= ready.vocabulary or min(prompt) < 0:
            message = f"Tokens of this model go from 0 to {ready.vocabulary - 1}."
            raise ApiError(message, param=at, code="invalid_value")
    size = max(1, min(_AT_ONCE, server.client.most))
    vectors = [await _some(server, prompts[start : start + size], adapter) for start in range(0, len(prompts), size)]
    return normalised(np.concatenate(vectors))


def normalised(vectors: Vectors) -> Vectors:
    """Each of length 1; one of zeros stays."""
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    scaled: Vectors = (vectors / np.maximum(lengths, np.finfo(np.float32).tiny)).astype(np.float32)
    return scaled


async def _some(server: Server, prompts: Sequence[tuple[int, ...]], adapter: int) -> Vectors:
    sampling = Sampling(max_tokens=0, pool=server.settings.pooling)
    id = new_id()
    requests = [
        SequenceRequest(f"{id}-{index}", prompt, sampling, adapter=adapter) for index, prompt in enumerate(prompts)
    ]
    group = server.client.submit(requests)
    try:
        await group.accepted()
        return await _collected(group, len(prompts))
    except RequestRefused as error:
        raise ApiError(sentence(str(error)), code="invalid_value") from error
    finally:
        group.close_all()


async def _collected(group: RequestGroup, count: int) -> Vectors:
    vectors: dict[int, Vectors] = {}
    while len(vectors) < count:
        for index, update in await group.take():
            if update.embedding is None:
                raise ApiError(f"The request failed: {update.error}.", status=500, code="engine_error")
            vectors[index] = np.frombuffer(update.embedding, np.float32)
            group.close(index, "length")
    return np.stack([vectors[index] for index in range(count)])
