"""The climb as one HTML page that opens offline: no scripts, no fonts, nothing fetched."""

from gridstride.judge.report.page import render
from gridstride.judge.report.save import save

__all__ = ["render", "save"]
