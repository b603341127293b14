/* Functions by name: each public one of the driver's, under the symbol that cuda.h of this release gives it. */
#define _GNU_SOURCE
#include <dlfcn.h>

#include "driver.h"

/* Name, symbol and ending of the symbol for per-thread streams, "" for none (programs/toolchain/driver_library.py). */
extern const char *const gs_entry_points[][3];

/* What a function was before the release that gave it other parameters. */
static const struct { const char *name; int before; const char *symbol; } older[] = {
    {"cuCtxCreate", 11040, "cuCtxCreate_v2"},
    {"cuCtxCreate", 12050, "cuCtxCreate_v3"},
};

static void *find(const char *name, int version, int per_thread) {
    char symbol[128];
    for (size_t i = 0; i < sizeof older / sizeof *older; i++)
        if (strcmp(older[i].name, name) == 0 && version < older[i].before)
            return dlsym(RTLD_DEFAULT, older[i].symbol);
    for (int i = 0; gs_entry_points[i][0] != NULL; i++)
        if (strcmp(gs_entry_points[i][0], name) == 0) {
            snprintf(symbol, sizeof symbol, "%s%s", gs_entry_points[i][1], per_thread ? gs_entry_points[i][2] : "");
            return dlsym(RTLD_DEFAULT, symbol);
        }
    return strncmp(name, "cu", 2) == 0 && strncmp(name, "cuda", 4) != 0 ? dlsym(RTLD_DEFAULT, name) : NULL;
}

PUBLIC CUresult CUDAAPI cuGetProcAddress(const char *symbol, void **function, int version, cuuint64_t flags,
                                         CUdriverProcAddressQueryResult *status) {
    NEED(symbol != NULL && function != NULL && version > 0, CUDA_ERROR_INVALID_VALUE);
    NEED(flags <= CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, CUDA_ERROR_INVALID_VALUE);
    *function = find(symbol, version, flags == CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM);
    if (status != NULL)
        *status = *function != NULL ? CU_GET_PROC_ADDRESS_SUCCESS : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    return *function != NULL ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

/* Tables that are not public. NVIDIA's compilers ask, too, which do without; a program's static runtime does not. */
PUBLIC CUresult CUDAAPI cuGetExportTable(const void **table, const CUuuid *id) {
    static const char *const without[] = {"libnvJitLink", "libnvrtc", "libnvvm"};
    Dl_info caller;
    (void)table, (void)id;
    if (dladdr(__builtin_return_address(0), &caller) && caller.dli_fname != NULL)
        for (size_t i = 0; i < sizeof without / sizeof *without; i++)
            if (strstr(caller.dli_fname, without[i]) != NULL)
                return CUDA_ERROR_NOT_SUPPORTED;
    return RUNTIME(gs_refused("cuGetExportTable", "its tables are not public, and what is linked with NVIDIA's static "
                                                  "runtime, as CuPy is, needs them"));
}

/* The libraries that are in this one, which a program may open by name; all others as the system has them. */
static int is_ours(const char *name) {
    static const char *const ours[] = {"libcuda.so", "libcudart.so", "libnvrtc.so"};
    const char *file = strrchr(name, '/') != NULL ? strrchr(name, '/') + 1 : name;
    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++) {
        size_t length = strlen(ours[i]);
        if (strncmp(file, ours[i], length) == 0 && (file[length] == 0 || file[length] == '.'))
            return 1;
    }
    return 0;
}

PUBLIC void *gs_dlopen(const char *name, int flags) {
    Dl_info self;
    if (name == NULL || !is_ours(name) || !dladdr((void *)gs_dlopen, &self))
        return dlopen(name, flags);
    return dlopen(self.dli_fname, RTLD_NOW | RTLD_NOLOAD);
}
