"""Modules and kernels that are launched, and the grids that grids launch."""
