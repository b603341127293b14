"""`/v1/models`."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request

from gridstride.serve.http.state import Server, server_of

router = APIRouter()


@router.get("/v1/models")
async def models(request: Request) -> dict[str, Any]:
    """The model, under each of its names, and its adapters."""
    server = server_of(request)
    return {"object": "list", "data": [_model(server, name) for name in server.models]}


@router.get("/v1/models/{name:path}")
async def model(request: Request, name: str) -> dict[str, Any]:
    """The model of this name."""
    server = server_of(request)
    server.check_model(name)
    return _model(server, name)


def _model(server: Server, name: str) -> dict[str, Any]:
    parent = {"parent": server.settings.names[0]} if server.adapter(name) else {}
    return {
        "id": name,
        "object": "model",
        "created": server.created,
        "owned_by": "gridstride",
        "max_model_len": server.ready.longest,
    } | parent
