/* NVRTC is NVIDIA's own library, which compiles without a GPU too: calls go on to it. Only its machine code is no use
 * here, so a program that asks for a cubin is given its PTX in a fat binary, which our cuModuleLoadData takes.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <nvrtc.h>

#include "runtime.h"

typedef struct Compiled {
    nvrtcProgram program;
    int64_t code; /* of its PTX */
    struct Compiled *next;
} Compiled;

static Compiled *compiled;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void *gs_nvrtc(const char *name) {
    static void *library;
    static pthread_mutex_t once = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&once);
    if (library == NULL && gs_board.vendor_nvrtc != NULL)
        library = dlopen(gs_board.vendor_nvrtc, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
    pthread_mutex_unlock(&once);
    void *function = library != NULL ? dlsym(library, name) : NULL;
    if (function == NULL)
        gs_refused(name, "NVIDIA's NVRTC is not installed, or older (pip install nvidia-cuda-nvrtc)");
    return function;
}

#define VENDOR(name, ...) nvrtcResult (*vendor)(__VA_ARGS__) = gs_nvrtc(name); \
    if (vendor == NULL) return NVRTC_ERROR_BUILTIN_OPERATION_FAILURE

static void forget(nvrtcProgram program) {
    pthread_mutex_lock(&lock);
    for (Compiled **place = &compiled; *place != NULL; place = &(*place)->next)
        if ((*place)->program == program) {
            Compiled *gone = *place;
            *place = gone->next;
            free(gone);
            break;
        }
    pthread_mutex_unlock(&lock);
}

PUBLIC const char *nvrtcGetErrorString(nvrtcResult result) {
    const char *(*vendor)(nvrtcResult) = gs_nvrtc("nvrtcGetErrorString");
    return vendor != NULL ? vendor(result) : "NVRTC_ERROR unknown";
}

PUBLIC nvrtcResult nvrtcDestroyProgram(nvrtcProgram *program) {
    VENDOR("nvrtcDestroyProgram", nvrtcProgram *);
    if (program != NULL)
        forget(*program);
    return vendor(program);
}

/* Under the sanitizer findings shall name lines. */
PUBLIC nvrtcResult nvrtcCompileProgram(nvrtcProgram program, int count, const char *const *options) {
    VENDOR("nvrtcCompileProgram", nvrtcProgram, int, const char *const *);
    forget(program);
    if (!gs_board.watches || count < 0 || (count > 0 && options == NULL))
        return vendor(program, count, options);
    const char **more = malloc((count + 1) * sizeof *more);
    for (int i = 0; i < count; i++)
        more[i] = options[i];
    more[count] = "-lineinfo";
    nvrtcResult result = vendor(program, count + 1, more);
    free(more);
    return result;
}

static nvrtcResult ptx_of(nvrtcProgram program, char **ptx) {
    size_t bytes;
    nvrtcResult (*size)(nvrtcProgram, size_t *) = gs_nvrtc("nvrtcGetPTXSize");
    nvrtcResult (*text)(nvrtcProgram, char *) = gs_nvrtc("nvrtcGetPTX");
    if (size == NULL || text == NULL)
        return NVRTC_ERROR_BUILTIN_OPERATION_FAILURE;
    nvrtcResult result = size(program, &bytes);
    *ptx = result == NVRTC_SUCCESS ? malloc(bytes + 1) : NULL;
    return result == NVRTC_SUCCESS ? text(program, *ptx) : result;
}

static nvrtcResult image_of(nvrtcProgram program, const void **image, uint64_t *bytes) {
    char *ptx;
    int64_t code = -1;
    pthread_mutex_lock(&lock);
    for (Compiled *each = compiled; each != NULL; each = each->next)
        if (each->program == program)
            code = each->code;
    if (code < 0) {
        nvrtcResult result = ptx_of(program, &ptx);
        if (result != NVRTC_SUCCESS || gs_board.code(ptx, 0, CODE_ANY, &code, NULL, 0) != cudaSuccess) {
            pthread_mutex_unlock(&lock);
            return result != NVRTC_SUCCESS ? result : NVRTC_ERROR_INTERNAL_ERROR;
        }
        free(ptx);
        Compiled *made = malloc(sizeof *made);
        *made = (Compiled){program, code, compiled};
        compiled = made;
    }
    pthread_mutex_unlock(&lock);
    return gs_board.code_image(code, image, bytes) == cudaSuccess ? NVRTC_SUCCESS : NVRTC_ERROR_INTERNAL_ERROR;
}

PUBLIC nvrtcResult nvrtcGetCUBINSize(nvrtcProgram program, size_t *size) {
    const void *image;
    uint64_t bytes;
    VENDOR("nvrtcGetCUBINSize", nvrtcProgram, size_t *);
    nvrtcResult result = vendor(program, size);
    if (result != NVRTC_SUCCESS || *size == 0)
        return result; /* none was asked for */
    result = image_of(program, &image, &bytes);
    if (result == NVRTC_SUCCESS)
        *size = bytes;
    return result;
}

PUBLIC nvrtcResult nvrtcGetCUBIN(nvrtcProgram program, char *cubin) {
    const void *image;
    uint64_t bytes;
    size_t size;
    VENDOR("nvrtcGetCUBINSize", nvrtcProgram, size_t *);
    nvrtcResult result = vendor(program, &size);
    if (result != NVRTC_SUCCESS || size == 0 || cubin == NULL)
        return result != NVRTC_SUCCESS ? result : NVRTC_ERROR_INVALID_INPUT;
    result = image_of(program, &image, &bytes);
    if (result == NVRTC_SUCCESS)
        memcpy(cubin, image, bytes);
    return result;
}
