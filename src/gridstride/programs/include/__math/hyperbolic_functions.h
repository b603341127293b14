/* Kernels call them too, of whole numbers and of two types: the C++ library's are the host's alone. */
#include <host_and_device_begin.h>
#include_next <__math/hyperbolic_functions.h>
#include <host_and_device_end.h>
