// No include guard: each inclusion follows NDEBUG as it is then. NVRTC has __assertfail but no assert under NDEBUG.
#ifdef NDEBUG
#undef assert
#define assert(condition) ((void)0)
#endif
