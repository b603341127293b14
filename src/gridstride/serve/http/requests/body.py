"""A request's body as one of our models, read without trusting its length, its speed or its form."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeVar

from fastapi import Request
from pydantic import BaseModel
from starlette.requests import ClientDisconnect

from gridstride.serve.http.errors import ApiError, ClientGone
from gridstride.serve.http.state import server_of

Model = TypeVar("Model", bound=BaseModel)


def parsed(model: type[Model]) -> Callable[[Request], Awaitable[Model]]:
    """A dependency that gives the body; pydantic parses the bytes itself, faster than by way of Python objects."""

    async def body(request: Request) -> Model:
        return model.model_validate_json(await _bytes(request))

    return body


def documented(model: type[BaseModel]) -> dict[str, Any]:
    """What /docs says of an endpoint's body, since FastAPI does not read it."""
    schema = model.model_json_schema()
    inlined = _inlined(schema, schema.pop("$defs", {}))
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": inlined}}}}


def _inlined(schema: Any, definitions: Mapping[str, Any]) -> Any:
    """Without references, which would lead nowhere from within an OpenAPI document."""
    if isinstance(schema, list):
        return [_inlined(item, definitions) for item in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        return _inlined(definitions[schema["$ref"].rpartition("/")[2]], definitions)
    return {key: _inlined(value, definitions) for key, value in schema.items()}


async def _bytes(request: Request) -> bytes:
    seconds = server_of(request).settings.body_timeout
    try:
        async with asyncio.timeout(seconds):
            return await request.body()
    except TimeoutError:
        raise ApiError(f"The request's body did not arrive within {seconds:g} s.", status=408) from None
    except ClientDisconnect:
        raise ClientGone from None
