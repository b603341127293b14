"""Python programs on the virtual GPU: unmodified scripts of numba.cuda, cuda.core and cuda.bindings."""
