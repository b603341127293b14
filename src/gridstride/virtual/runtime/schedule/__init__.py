"""Warps as fibers: the scheduler, barriers, clusters, launches from the device."""
