"""`/tokenize` and `/detokenize`, as vLLM has them."""

from __future__ import annotations

from typing import Any

from starlette.types import Receive

from gridstride.serve.http.endpoint import Endpoint
from gridstride.serve.http.errors import ApiError
from gridstride.serve.http.requests.generate import DetokenizeRequest, TokenizeRequest
from gridstride.serve.http.state import Server


async def tokenize(server: Server, body: TokenizeRequest, receive: Receive) -> dict[str, Any]:
    """The tokens of a prompt, or of a conversation as the model will see it."""
    server.check_model(body.model)
    if (body.prompt is None) == (body.messages is None):
        raise ApiError("Give either 'prompt' or 'messages'.", param="prompt", code="invalid_value")
    if body.messages is not None:
        tokens = (await server.prepare_for(body.model).chat(body, body.tools)).tokens
    else:
        assert body.prompt is not None
        tokens = await server.prepare.text(body.prompt, special=body.add_special_tokens is not False)
    return {"tokens": tokens, "count": len(tokens), "max_model_len": server.ready.longest}


async def detokenize(server: Server, body: DetokenizeRequest, receive: Receive) -> dict[str, Any]:
    """The text of tokens."""
    server.check_model(body.model)
    vocabulary = server.prepare.tokenizer.vocabulary
    if body.tokens and max(body.tokens) >= vocabulary:
        message = f"Token {max(body.tokens)} is none of the tokenizer's, which go from 0 to {vocabulary - 1}."
        raise ApiError(message, param="tokens", code="invalid_value")
    return {"prompt": await server.prepare.decode(body.tokens)}


ENDPOINTS = (
    Endpoint("/tokenize", TokenizeRequest, tokenize),
    Endpoint("/detokenize", DetokenizeRequest, detokenize),
)
