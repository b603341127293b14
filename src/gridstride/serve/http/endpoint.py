"""Endpoints whose body is one of our models, answered without a framework's layers, which cost more than the answer."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter, Request
from pydantic import BaseModel
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from gridstride.serve.http import errors
from gridstride.serve.http.requests.body import documented, read
from gridstride.serve.http.state import Server, server_of

Answer = Callable[[Server, Any, Receive], Awaitable[Response | dict[str, Any]]]
"""The server, the body as its model, and what tells that the client has gone."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A path to which a body is posted."""

    path: str
    body: type[BaseModel]
    answer: Answer

    async def respond(self, server: Server, receive: Receive) -> Response:
        """Pydantic parses the bytes itself, faster than by way of Python objects."""
        body = await read(receive, within=server.settings.body_timeout)
        answer = await self.answer(server, self.body.model_validate_json(body), receive)
        return answer if isinstance(answer, Response) else JSONResponse(answer)

    def add_to(self, router: APIRouter) -> None:
        """For /docs, and for what FastAPI says of other methods and of a slash at the end."""

        async def respond(request: Request) -> Response:
            return await self.respond(server_of(request), request.receive)

        router.add_api_route(
            self.path, respond, methods=["POST"], response_model=None, openapi_extra=documented(self.body),
            name=self.answer.__name__, description=self.answer.__doc__,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Direct:
    """Answers what is posted to endpoints; all else is the application's, which knows these paths as well."""

    app: ASGIApp
    server: Server
    endpoints: Mapping[str, Endpoint]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        posted = scope["type"] == "http" and scope["method"] == "POST"
        endpoint = self.endpoints.get(scope["path"]) if posted else None
        if endpoint is None:
            await self.app(scope, receive, send)
            return
        try:
            response = await endpoint.respond(self.server, receive)
        except Exception as error:
            response = errors.response_to(error, scope)
        await response(scope, receive, send)
