"""Requests in, a step at a time, tokens out."""
