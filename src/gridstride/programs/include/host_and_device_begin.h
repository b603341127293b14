/* Functions of the C++ library's headers that come next are the host's and the device's. */
#ifdef __CUDACC__
#pragma push_macro("_LIBCPP_HIDE_FROM_ABI")
#undef _LIBCPP_HIDE_FROM_ABI
#define _LIBCPP_HIDE_FROM_ABI __host__ __device__
#endif
