"""A request's body, read without trusting its length or its speed, and what /docs says of it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel
from starlette.types import Receive

from gridstride.serve.http.errors import ApiError, ClientGone


async def read(receive: Receive, *, within: float) -> bytes:
    """A request's body, ApiError where it is not there after so many seconds."""
    try:
        async with asyncio.timeout(within):
            return await _bytes(receive)
    except TimeoutError:
        raise ApiError(f"The request's body did not arrive within {within:g} s.", status=408) from None


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


async def _bytes(receive: Receive) -> bytes:
    parts = []
    while True:
        message = await receive()
        if message["type"] != "http.request":
            raise ClientGone
        parts.append(message.get("body", b""))
        if not message.get("more_body", False):
            return parts[0] if len(parts) == 1 else b"".join(parts)
