"""Proof that a problem can judge: what is right passes, what is known to be wrong does not."""
