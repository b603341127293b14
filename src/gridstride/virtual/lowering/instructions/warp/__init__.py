"""Votes, shuffles and other work of a whole warp."""
