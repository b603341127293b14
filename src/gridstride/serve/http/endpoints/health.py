"""`/health`, which is `/ping` too, `/metrics` and `/version`: for whoever looks after the server."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse
from starlette.responses import Response

from gridstride.serve.http.state import server_of
from gridstride.serve.process.health import trouble

router = APIRouter()


@router.get("/health", response_model=None)
@router.head("/health", response_model=None, include_in_schema=False)
@router.get("/ping", response_model=None)
@router.head("/ping", response_model=None, include_in_schema=False)
@router.post("/ping", response_model=None)
async def health(request: Request) -> Response:
    """200 while requests are served, else 503 with the reason."""
    server = server_of(request)
    reason = trouble(server.supervisor, server.client, stall_after=server.settings.stall_after)
    if server.draining:
        reason = "the server is about to end"
    if reason is None:
        return JSONResponse({"status": "ok"})
    return JSONResponse({"status": "unavailable", "reason": reason}, status_code=503)


@router.get("/metrics", response_model=None)
async def metrics(request: Request) -> Response:
    """For Prometheus."""
    server = server_of(request)
    server.metrics.healthy(trouble(server.supervisor, server.client, stall_after=server.settings.stall_after) is None)
    return Response(server.metrics.text(), media_type=server.metrics.content_type)


@router.get("/version")
async def package_version() -> dict[str, str]:
    """Of this package."""
    try:
        return {"version": version("gridstride")}
    except PackageNotFoundError:
        return {"version": "unknown: run from source"}
