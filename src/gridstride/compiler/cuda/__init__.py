"""What every compiler of CUDA C++ shares: the request, its result, the cache of PTX, and the choice of compiler."""
