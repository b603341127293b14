"""mma, wmma, ldmatrix and stmatrix."""
