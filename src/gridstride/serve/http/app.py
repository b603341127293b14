"""The application: all endpoints, all errors in one shape."""

from __future__ import annotations

from fastapi import APIRouter, FastAPI
from starlette.routing import Route
from starlette.types import ASGIApp

from gridstride.serve.http import errors, middleware
from gridstride.serve.http.endpoint import Direct
from gridstride.serve.http.endpoints import chat, completions, embeddings, health, models, rerank, responses, tokenize
from gridstride.serve.http.state import Server

_ENDPOINTS = {
    endpoint.path: endpoint
    for room in (chat, completions, responses, embeddings, rerank, tokenize)
    for endpoint in room.ENDPOINTS
}


def application(server: Server) -> ASGIApp:
    """What uvicorn runs for this server."""
    app = FastAPI(title="GridStride", redoc_url=None, description="OpenAI's interface to a model of your own.")
    app.state.server = server
    errors.install(app)
    posted = APIRouter()
    for endpoint in _ENDPOINTS.values():
        endpoint.add_to(posted)
    for router in (posted, models.router, health.router):
        app.include_router(router)
    paths = {route.path for room in (models, health) for route in room.router.routes if isinstance(route, Route)}
    return middleware.wrapped(Direct(app, server, _ENDPOINTS), server, frozenset(paths | _ENDPOINTS.keys()))
