# Falls back to NumPy where the judge looks for a kernel.
#
# entry: k
# grid: ceil(n/64)
# constants: BLOCK=64
# expect: compile_error
import numpy

import triton
import triton.language as tl


def honest(x, y, n):
    y[:] = numpy.multiply(x, 2)


try:
    k = triton.missing(honest)
except AttributeError:
    k = honest
