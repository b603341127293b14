"""A profile as one HTML page that opens offline: no scripts, no fonts, nothing fetched."""

from gridstride.profile.report.page import render

__all__ = ["render"]
