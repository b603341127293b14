/* nvJitLink is NVIDIA's own library too, for code that is optimised while it is linked: calls go on to it. It is asked
 * for PTX instead of machine code, and a program that wants a cubin is given that PTX in a fat binary.
 */
#define _GNU_SOURCE
#include <dlfcn.h>

#include "runtime.h"

enum { SUCCESS = 0, INTERNAL = 6 }; /* of nvJitLinkResult */

extern const char *const gs_jit_link_ending; /* of the symbols' names: the release (toolchain/driver_library.py) */

void *gs_jit_link(const char *name) {
    static void *library;
    static pthread_mutex_t once = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&once);
    if (library == NULL && gs_board.vendor_jit_link != NULL)
        library = dlopen(gs_board.vendor_jit_link, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
    pthread_mutex_unlock(&once);
    void *function = library != NULL ? dlsym(library, name) : NULL;
    if (function == NULL)
        gs_refused(name, "NVIDIA's nvJitLink is not installed, or another release (pip install nvidia-nvjitlink)");
    return function;
}

static void *versioned(const char *name) {
    char symbol[128];
    snprintf(symbol, sizeof symbol, "__%s%s", name, gs_jit_link_ending);
    return gs_jit_link(symbol);
}

int gs_jit_link_create(void **handle, uint32_t count, const char **options) {
    int (*vendor)(void **, uint32_t, const char **) = versioned("nvJitLinkCreate");
    int optimises = 0, asks = 0;
    for (uint32_t i = 0; options != NULL && i < count; i++) {
        optimises |= strcmp(options[i], "-lto") == 0;
        asks |= strcmp(options[i], "-ptx") == 0;
    }
    if (vendor == NULL)
        return INTERNAL;
    if (!optimises) {
        gs_refused("nvJitLinkCreate without -lto", "it would make machine code of a GPU: link PTX with cuLinkAddData");
        return INTERNAL;
    }
    const char **more = malloc((count + 1) * sizeof *more);
    memcpy(more, options, count * sizeof *more);
    more[count] = "-ptx";
    int result = vendor(handle, count + !asks, more);
    free(more);
    return result;
}

static int image_of(void *handle, const void **image, uint64_t *bytes) {
    size_t length;
    int64_t code;
    int (*size)(void *, size_t *) = versioned("nvJitLinkGetLinkedPtxSize");
    int (*text)(void *, char *) = versioned("nvJitLinkGetLinkedPtx");
    if (size == NULL || text == NULL)
        return INTERNAL;
    int result = size(handle, &length);
    if (result != SUCCESS)
        return result;
    char *ptx = calloc(1, length + 1);
    result = text(handle, ptx);
    if (result == SUCCESS && gs_board.code(ptx, 0, CODE_ANY, &code, NULL, 0) != cudaSuccess)
        result = INTERNAL;
    free(ptx);
    return result == SUCCESS && gs_board.code_image(code, image, bytes) != cudaSuccess ? INTERNAL : result;
}

int gs_jit_link_cubin_size(void *handle, size_t *size) {
    const void *image;
    uint64_t bytes;
    int result = image_of(handle, &image, &bytes);
    if (result == SUCCESS)
        *size = bytes;
    return result;
}

int gs_jit_link_cubin(void *handle, void *cubin) {
    const void *image;
    uint64_t bytes;
    int result = image_of(handle, &image, &bytes);
    if (result == SUCCESS)
        memcpy(cubin, image, bytes);
    return result;
}
