/* Modules of a context, libraries of no context, and the functions in both. A module, a library and what the program was
 * linked with are one kind of thing (runtime/registration.c), and so are a CUfunction, a CUkernel and a cudaFunction_t.
 */
#include "driver.h"

/* -- modules ------------------------------------------------------------------------------------------------------- */
static CUresult load(CUmodule *module, const void *image, size_t bytes, const Logs *logs, const Context *context) {
    int64_t code;
    Module *made = NULL;
    cudaError_t error = gs_board.code(image, bytes, CODE_ANY, &code, logs->error, logs->error_room);
    if (error == cudaSuccess) {
        made = gs_new_module(code, context);
        if (gs_context != NULL) /* a library loaded without one is looked at when it is used */
            error = gs_load_module(made, logs->error, logs->error_room);
    }
    gs_count_logs(logs);
    if (error != cudaSuccess && made != NULL)
        gs_unload_module(made);
    if (error == cudaSuccess)
        *module = (CUmodule)made;
    return gs_result(error);
}

PUBLIC CUresult CUDAAPI cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned count, CUjit_option *options,
                                           void **values) {
    Logs logs;
    ENTER_DRIVER();
    NEED(module != NULL && image != NULL, CUDA_ERROR_INVALID_VALUE);
    GIVE(gs_read_options(count, options, values, &logs));
    return load(module, image, 0, &logs, gs_owner());
}

PUBLIC CUresult CUDAAPI cuModuleLoadData(CUmodule *module, const void *image) {
    return cuModuleLoadDataEx(module, image, 0, NULL, NULL);
}

PUBLIC CUresult CUDAAPI cuModuleLoadFatBinary(CUmodule *module, const void *image) {
    return cuModuleLoadData(module, image);
}

PUBLIC CUresult CUDAAPI cuModuleLoad(CUmodule *module, const char *path) {
    char *data;
    size_t bytes;
    ENTER_DRIVER();
    NEED(module != NULL, CUDA_ERROR_INVALID_VALUE);
    GIVE(gs_read_file(path, &data, &bytes));
    CUresult result = load(module, data, bytes, &(Logs){0}, gs_owner());
    free(data);
    return result;
}

PUBLIC CUresult CUDAAPI cuModuleUnload(CUmodule module) {
    ENTER_DRIVER();
    NEED(gs_is_module((Module *)module) && !gs_is_library((Module *)module), CUDA_ERROR_INVALID_HANDLE);
    gs_unload_module((Module *)module);
    return CUDA_SUCCESS;
}

PUBLIC CUresult CUDAAPI cuModuleGetLoadingMode(CUmoduleLoadingMode *mode) {
    ENTER_INITIALISED();
    NEED(mode != NULL, CUDA_ERROR_INVALID_VALUE);
    *mode = CU_MODULE_EAGER_LOADING;
    return CUDA_SUCCESS;
}

static CUresult find_kernel(void **kernel, Module *module, const char *name) {
    Kernel *found;
    NEED(gs_is_module(module), CUDA_ERROR_INVALID_HANDLE);
    NEED(kernel != NULL && name != NULL, CUDA_ERROR_INVALID_VALUE);
    cudaError_t error = gs_module_kernel(module, name, &found);
    if (error == cudaErrorInvalidDeviceFunction)
        return CUDA_ERROR_NOT_FOUND;
    if (error == cudaSuccess)
        *kernel = found;
    return gs_result(error);
}

static CUresult find_variable(CUdeviceptr *address, size_t *bytes, Module *module, const char *name) {
    uint64_t place, size;
    NEED(gs_is_module(module), CUDA_ERROR_INVALID_HANDLE);
    NEED(name != NULL && (address != NULL || bytes != NULL), CUDA_ERROR_INVALID_VALUE);
    GIVE(gs_result(gs_module_variable(module, name, &place, &size)));
    if (address != NULL)
        *address = place;
    if (bytes != NULL)
        *bytes = size;
    return CUDA_SUCCESS;
}

static CUresult count_kernels(unsigned *count, Module *module) {
    NEED(gs_is_module(module), CUDA_ERROR_INVALID_HANDLE);
    NEED(count != NULL, CUDA_ERROR_INVALID_VALUE);
    for (*count = 0; gs_module_entry(module, *count) != NULL; ++*count)
        ;
    return CUDA_SUCCESS;
}

static CUresult all_kernels(void **kernels, unsigned room, Module *module) {
    NEED(gs_is_module(module), CUDA_ERROR_INVALID_HANDLE);
    NEED(kernels != NULL || room == 0, CUDA_ERROR_INVALID_VALUE);
    for (unsigned i = 0; i < room; i++) {
        const char *name = gs_module_entry(module, i);
        if (name == NULL)
            break;
        GIVE(find_kernel(&kernels[i], module, name));
    }
    return CUDA_SUCCESS;
}

PUBLIC CUresult CUDAAPI cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name) {
    ENTER_DRIVER();
    return find_kernel((void **)function, (Module *)module, name);
}

PUBLIC CUresult CUDAAPI cuModuleGetFunctionCount(unsigned *count, CUmodule module) {
    ENTER_DRIVER();
    return count_kernels(count, (Module *)module);
}

PUBLIC CUresult CUDAAPI cuModuleEnumerateFunctions(CUfunction *functions, unsigned room, CUmodule module) {
    ENTER_DRIVER();
    return all_kernels((void **)functions, room, (Module *)module);
}

PUBLIC CUresult CUDAAPI cuModuleGetGlobal(CUdeviceptr *address, size_t *bytes, CUmodule module, const char *name) {
    ENTER_DRIVER();
    return find_variable(address, bytes, (Module *)module, name);
}

/* -- libraries ----------------------------------------------------------------------------------------------------- */
static CUresult check_library_options(unsigned count, const CUlibraryOption *options) {
    NEED(count == 0 || options != NULL, CUDA_ERROR_INVALID_VALUE);
    for (unsigned i = 0; i < count; i++)
        NEED(options[i] >= 0 && options[i] < CU_LIBRARY_NUM_OPTIONS, CUDA_ERROR_INVALID_VALUE);
    return CUDA_SUCCESS;
}

PUBLIC CUresult CUDAAPI cuLibraryLoadData(CUlibrary *library, const void *image, CUjit_option *options, void **values,
                                          unsigned count, CUlibraryOption *library_options, void **library_values,
                                          unsigned library_count) {
    Logs logs;
    (void)library_values;
    ENTER_INITIALISED();
    NEED(library != NULL && image != NULL, CUDA_ERROR_INVALID_VALUE);
    GIVE(check_library_options(library_count, library_options));
    GIVE(gs_read_options(count, options, values, &logs));
    return load((CUmodule *)library, image, 0, &logs, NULL);
}

PUBLIC CUresult CUDAAPI cuLibraryLoadFromFile(CUlibrary *library, const char *path, CUjit_option *options,
                                              void **values, unsigned count, CUlibraryOption *library_options,
                                              void **library_values, unsigned library_count) {
    Logs logs;
    char *data;
    size_t bytes;
    (void)library_values;
    ENTER_INITIALISED();
    NEED(library != NULL, CUDA_ERROR_INVALID_VALUE);
    GIVE(check_library_options(library_count, library_options));
    GIVE(gs_read_options(count, options, values, &logs));
    GIVE(gs_read_file(path, &data, &bytes));
    CUresult result = load((CUmodule *)library, data, bytes, &logs, NULL);
    free(data);
    return result;
}

PUBLIC CUresult CUDAAPI cuLibraryUnload(CUlibrary library) {
    ENTER_INITIALISED();
    NEED(gs_is_library((Module *)library), CUDA_ERROR_INVALID_HANDLE);
    gs_unload_module((Module *)library);
    return CUDA_SUCCESS;
}

PUBLIC CUresult CUDAAPI cuLibraryGetKernel(CUkernel *kernel, CUlibrary library, const char *name) {
    ENTER_INITIALISED();
    NEED(gs_is_library((Module *)library), CUDA_ERROR_INVALID_HANDLE);
    return find_kernel((void **)kernel, (Module *)library, name);
}

PUBLIC CUresult CUDAAPI cuLibraryGetKernelCount(unsigned *count, CUlibrary library) {
    ENTER_INITIALISED();
    NEED(gs_is_library((Module *)library), CUDA_ERROR_INVALID_HANDLE);
    return count_kernels(count, (Module *)library);
}

PUBLIC CUresult CUDAAPI cuLibraryEnumerateKernels(CUkernel *kernels, unsigned room, CUlibrary library) {
    ENTER_INITIALISED();
    NEED(gs_is_library((Module *)library), CUDA_ERROR_INVALID_HANDLE);
    return all_kernels((void **)kernels, room, (Module *)library);
}

PUBLIC CUresult CUDAAPI cuLibraryGetModule(CUmodule *module, CUlibrary library) {
    ENTER_DRIVER();
    NEED(gs_is_library((Module *)library), CUDA_ERROR_INVALID_HANDLE);
    NEED(module != NULL, CUDA_ERROR_INVALID_VALUE);
    *module = (CUmodule)library;
    return CUDA_SUCCESS;
}

PUBLIC CUresult CUDAAPI cuLibraryGetGlobal(CUdeviceptr *address, size_t *bytes, CUlibrary library, const char *name) {
    ENTER_DRIVER();
    NEED(gs_is_library((Module *)library), CUDA_ERROR_INVALID_HANDLE);
    return find_variable(address, bytes, (Module *)library, name);
}

PUBLIC CUresult CUDAAPI cuLibraryGetManaged(CUdeviceptr *address, size_t *bytes, CUlibrary library, const char *name) {
    return cuLibraryGetGlobal(address, bytes, library, name);
}

/* -- kernels and functions ----------------------------------------------------------------------------------------- */
static CUresult known(const void *function, Kernel **kernel) {
    NEED(function != NULL, CUDA_ERROR_INVALID_HANDLE);
    return gs_result(gs_kernel(function, kernel));
}

PUBLIC CUresult CUDAAPI cuKernelGetFunction(CUfunction *function, CUkernel kernel) {
    Kernel *found;
    const KernelLayout *layout;
    ENTER_DRIVER();
    NEED(function != NULL, CUDA_ERROR_INVALID_VALUE);
    GIVE(known(kernel, &found));
    GIVE(gs_result(gs_kernel_layout(found, &layout)));
    *function = (CUfunction)found;
    return CUDA_SUCCESS;
}

PUBLIC CUresult CUDAAPI cuKernelGetLibrary(CUlibrary *library, CUkernel kernel) {
    Kernel *found;
    ENTER_INITIALISED();
    NEED(library != NULL, CUDA_ERROR_INVALID_VALUE);
    GIVE(known(kernel, &found));
    *library = (CUlibrary)gs_kernel_module(found);
    return CUDA_SUCCESS;
}

PUBLIC CUresult CUDAAPI cuFuncGetModule(CUmodule *module, CUfunction function) {
    ENTER_DRIVER();
    return cuKernelGetLibrary((CUlibrary *)module, (CUkernel)function);
}

PUBLIC CUresult CUDAAPI cuFuncIsLoaded(CUfunctionLoadingState *state, CUfunction function) {
    Kernel *found;
    ENTER_DRIVER();
    NEED(state != NULL, CUDA_ERROR_INVALID_VALUE);
    GIVE(known(function, &found));
    *state = gs_kernel_loaded(found) ? CU_FUNCTION_LOADING_STATE_LOADED : CU_FUNCTION_LOADING_STATE_UNLOADED;
    return CUDA_SUCCESS;
}

PUBLIC CUresult CUDAAPI cuFuncLoad(CUfunction function) {
    Kernel *found;
    const KernelLayout *layout;
    ENTER_DRIVER();
    GIVE(known(function, &found));
    return gs_result(gs_kernel_layout(found, &layout));
}

PUBLIC CUresult CUDAAPI cuFuncGetAttribute(int *value, CUfunction_attribute attribute, CUfunction function) {
    struct cudaFuncAttributes all;
    Kernel *found;
    ENTER_DRIVER();
    NEED(value != NULL, CUDA_ERROR_INVALID_VALUE);
    GIVE(known(function, &found));
    GIVE(RUNTIME(cudaFuncGetAttributes(&all, found)));
    switch (attribute) {
#define IS(name, field) case CU_FUNC_ATTRIBUTE_##name: *value = (int)all.field; return CUDA_SUCCESS
    IS(MAX_THREADS_PER_BLOCK, maxThreadsPerBlock);
    IS(SHARED_SIZE_BYTES, sharedSizeBytes);
    IS(CONST_SIZE_BYTES, constSizeBytes);
    IS(LOCAL_SIZE_BYTES, localSizeBytes);
    IS(NUM_REGS, numRegs);
    IS(PTX_VERSION, ptxVersion);
    IS(BINARY_VERSION, binaryVersion);
    IS(CACHE_MODE_CA, cacheModeCA);
    IS(MAX_DYNAMIC_SHARED_SIZE_BYTES, maxDynamicSharedSizeBytes);
    IS(PREFERRED_SHARED_MEMORY_CARVEOUT, preferredShmemCarveout);
    IS(CLUSTER_SIZE_MUST_BE_SET, clusterDimMustBeSet);
    IS(REQUIRED_CLUSTER_WIDTH, requiredClusterWidth);
    IS(REQUIRED_CLUSTER_HEIGHT, requiredClusterHeight);
    IS(REQUIRED_CLUSTER_DEPTH, requiredClusterDepth);
    IS(NON_PORTABLE_CLUSTER_SIZE_ALLOWED, nonPortableClusterSizeAllowed);
    IS(CLUSTER_SCHEDULING_POLICY_PREFERENCE, clusterSchedulingPolicyPreference);
#undef IS
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
}

/* A kernel's attribute of one GPU, which need not be the current one. */
#define ON_DEVICE(device, call) do { \
    NEED(gs_is_device(device), CUDA_ERROR_INVALID_DEVICE); \
    int before_ = gs_current(); \
    gs_make_current(device); \
    CUresult result_ = (call); \
    gs_make_current(before_); \
    return result_; } while (0)

PUBLIC CUresult CUDAAPI cuKernelGetAttribute(int *value, CUfunction_attribute attribute, CUkernel kernel,
                                             CUdevice device) {
    ENTER_INITIALISED();
    ON_DEVICE(device, cuFuncGetAttribute(value, attribute, (CUfunction)kernel));
}

PUBLIC CUresult CUDAAPI cuKernelSetAttribute(CUfunction_attribute attribute, int value, CUkernel kernel,
                                             CUdevice device) {
    ENTER_INITIALISED();
    NEED(kernel != NULL, CUDA_ERROR_INVALID_HANDLE);
    ON_DEVICE(device, RUNTIME(cudaFuncSetAttribute(kernel, (enum cudaFuncAttribute)attribute, value)));
}
