"""OpenAI's error shape, for everything that can go wrong."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse
from pydantic import ValidationError
from pydantic_core import ErrorDetails
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.types import Scope

from gridstride.serve.http.requests.strict import FORM
from gridstride.serve.process.client import Lost, RequestRefused, Unavailable

log = logging.getLogger("gridstride.serve")
_SHOWN = 80  # characters of a wrong value that a message quotes


class ApiError(Exception):
    """An answer that is an error; `param` names the field at fault."""

    def __init__(
        self,
        message: str,
        *,
        status: int = 400,
        param: str | None = None,
        code: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.message, self.status, self.param, self.code = message, status, param, code
        self.headers = dict(headers or {})

    @property
    def body(self) -> dict[str, Any]:
        kind = "server_error" if self.status >= 500 else "invalid_request_error"
        return {"error": {"message": self.message, "type": kind, "param": self.param, "code": self.code}}

    def response(self) -> JSONResponse:
        return JSONResponse(self.body, status_code=self.status, headers=self.headers)


class ClientGone(Exception):
    """Nobody waits for the answer any more."""


def as_api_error(error: Exception) -> ApiError | None:
    """What a client is told of an exception that is not its own server's fault; None for all others."""
    if isinstance(error, ApiError):
        return error
    if isinstance(error, Unavailable):
        headers = {"Retry-After": f"{error.retry_after:g}"}
        return ApiError(str(error), status=503, code="unavailable", headers=headers)
    if isinstance(error, Lost):
        return ApiError(f"{error}; send it again.".capitalize(), status=500, code="engine_lost")
    if isinstance(error, RequestRefused):
        return ApiError(str(error))
    if isinstance(error, ValidationError):
        return from_validation(error.errors())
    if isinstance(error, HTTPException):
        return ApiError(str(error.detail), status=error.status_code, headers=error.headers)
    return None


def sentence(text: str) -> str:
    """What the engine says, as a message to clients."""
    return f"{text[:1].upper()}{text[1:].rstrip('.')}."


def from_validation(errors: Sequence[ErrorDetails]) -> ApiError:
    """The first thing that a model found wrong, in OpenAI's words where they have some."""
    unknown = [_path(error["loc"]) for error in errors if error["type"] == "extra_forbidden"]
    if unknown:
        plural = "s" if len(unknown) > 1 else ""
        message = f"Unrecognized request argument{plural} supplied: {', '.join(unknown)}"
        return ApiError(message, param=unknown[0], code="unknown_parameter")
    error = errors[0]
    param = _path(error["loc"]) + error.get("ctx", {}).get("at", "") or None
    if error["type"] == "json_invalid":
        return ApiError(f"We could not parse the JSON body of your request: {error['msg']}")
    if error["type"] == "missing":
        return ApiError(f"Missing required parameter: '{param}'.", param=param, code="missing_required_parameter")
    if param is None:
        return ApiError(error["msg"].removeprefix("Value error, "), code="invalid_value")
    if error["type"] == "unsupported":
        return ApiError(error["msg"], param=param, code="unsupported_parameter")
    what = error["msg"].removeprefix("Value error, ")
    return ApiError(f"Invalid value for '{param}': {what}{_input_note(error)}.", param=param, code=_code(error["type"]))


def response_to(error: Exception, scope: Scope) -> Response:
    """What answers a request that ended so."""
    if isinstance(error, ClientGone):
        return ApiError("The client closed the request.", status=499).response()  # for the log: nobody reads it
    return (as_api_error(error) or unexpected(error, scope)).response()


def unexpected(error: Exception, scope: Scope) -> ApiError:
    """What a client is told of an error of ours; the log has it with its traceback."""
    id = scope.get("request_id", "")
    log.error("request %s failed", id, exc_info=error)
    return ApiError(f"The server had an error. Its log has more under request {id}.", status=500)


def install(app: FastAPI) -> None:
    """Have every exception answered in this shape."""
    for kind in (ApiError, Unavailable, Lost, RequestRefused, ValidationError, ClientGone):
        app.add_exception_handler(kind, _expected)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(Exception, _unexpected)


async def _expected(request: Request, error: Exception) -> Response:
    return response_to(error, request.scope)


async def _http(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    method, path = request.method, request.url.path
    message = {
        HTTPStatus.NOT_FOUND: f"Invalid URL ({method} {path})",
        HTTPStatus.METHOD_NOT_ALLOWED: f"Not allowed to {method} on {path}.",
    }.get(HTTPStatus(error.status_code), str(error.detail))
    return ApiError(message, status=error.status_code, headers=error.headers).response()


async def _unexpected(request: Request, error: Exception) -> JSONResponse:
    id = request.scope.get("request_id", "")
    log.error("request %s failed:", id)  # uvicorn's log has the traceback, below this line
    return ApiError(f"The server had an error. Its log has more under request {id}.", status=500).response()


def _path(location: Sequence[int | str]) -> str:
    text = ""
    for part in location:
        if isinstance(part, str) and part.startswith(FORM):
            continue
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


def _input_note(error: ErrorDetails) -> str:
    """The value at fault where it is short enough to help."""
    value = error.get("input")
    if isinstance(value, dict | list) or value is None:
        return ""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return f" (got {text if len(text) <= _SHOWN else text[:_SHOWN] + '…'})"


def _code(kind: str) -> str:
    return "invalid_type" if kind.endswith("_type") else "invalid_value"
