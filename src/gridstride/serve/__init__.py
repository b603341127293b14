"""Serving: requests in, tokens out, many at a time over one paged cache."""
