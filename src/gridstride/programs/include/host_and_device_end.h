#ifdef __CUDACC__
#pragma pop_macro("_LIBCPP_HIDE_FROM_ABI")
#endif
