"""The application: all endpoints, all errors in one shape."""

from __future__ import annotations

from fastapi import FastAPI
from starlette.types import ASGIApp

from gridstride.serve.http import errors, middleware
from gridstride.serve.http.endpoints import chat, completions, embeddings, health, models, rerank, responses, tokenize
from gridstride.serve.http.state import Server

_ROOMS = (chat, completions, responses, embeddings, rerank, models, tokenize, health)


def application(server: Server) -> ASGIApp:
    """What uvicorn runs for this server."""
    app = FastAPI(title="GridStride", redoc_url=None, description="OpenAI's interface to a model of your own.")
    app.state.server = server
    errors.install(app)
    for room in _ROOMS:
        app.include_router(room.router)
    return middleware.wrapped(app, server, frozenset(route.path for room in _ROOMS for route in room.router.routes))
