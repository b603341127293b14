// clang's intrinsics include it for what CUDA has since sm_70 (__match_any_sync and the like): not here.
