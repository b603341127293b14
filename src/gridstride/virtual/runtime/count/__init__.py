"""Counters of the observed build: sectors, bank conflicts, L1."""
