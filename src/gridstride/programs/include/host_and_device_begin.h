/* Functions of the C++ library's header that comes next are the host's and the device's. What that header includes
 * stays as it is: it is included here, before. */
#include <__config>
#include <__type_traits/enable_if.h>
#include <__type_traits/is_arithmetic.h>
#include <__type_traits/is_integral.h>
#include <__type_traits/is_same.h>
#include <__type_traits/promote.h>
#include <limits>
#ifdef __CUDACC__
#pragma push_macro("_LIBCPP_HIDE_FROM_ABI")
#undef _LIBCPP_HIDE_FROM_ABI
#define _LIBCPP_HIDE_FROM_ABI __host__ __device__
#endif
