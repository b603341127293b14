"""`/tokenize` and `/detokenize`, as vLLM has them."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request

from gridstride.serve.http.errors import ApiError
from gridstride.serve.http.requests.body import documented, parsed
from gridstride.serve.http.requests.generate import DetokenizeRequest, TokenizeRequest
from gridstride.serve.http.state import server_of

router = APIRouter()


@router.post("/tokenize", openapi_extra=documented(TokenizeRequest))
async def tokenize(
    request: Request, body: Annotated[TokenizeRequest, Depends(parsed(TokenizeRequest))]
) -> dict[str, Any]:
    """The tokens of a prompt, or of a conversation as the model will see it."""
    server = server_of(request)
    server.check_model(body.model)
    if (body.prompt is None) == (body.messages is None):
        raise ApiError("Give either 'prompt' or 'messages'.", param="prompt", code="invalid_value")
    if body.messages is not None:
        tokens = (await server.prepare_for(body.model).chat(body, body.tools)).tokens
    else:
        assert body.prompt is not None
        tokens = await server.prepare.text(body.prompt, special=body.add_special_tokens is not False)
    return {"tokens": tokens, "count": len(tokens), "max_model_len": server.ready.longest}


@router.post("/detokenize", openapi_extra=documented(DetokenizeRequest))
async def detokenize(
    request: Request, body: Annotated[DetokenizeRequest, Depends(parsed(DetokenizeRequest))]
) -> dict[str, str]:
    """The text of tokens."""
    server = server_of(request)
    server.check_model(body.model)
    vocabulary = server.prepare.tokenizer.vocabulary
    if body.tokens and max(body.tokens) >= vocabulary:
        message = f"Token {max(body.tokens)} is none of the tokenizer's, which go from 0 to {vocabulary - 1}."
        raise ApiError(message, param="tokens", code="invalid_value")
    return {"prompt": await server.prepare.decode(body.tokens)}
