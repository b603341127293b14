/* nvJitLink. PTX, fat binaries and objects with PTX are linked as cuLink* links them: the image is PTX, which our driver
 * loads, and no machine code. Code that is optimised while it is linked (-lto) is NVIDIA's own library's: it is asked for
 * PTX, which is one of the texts that are linked then. It looks at the options of every link.
 */
#define _GNU_SOURCE
#include <dlfcn.h>

#include "driver.h"

enum { SUCCESS = 0, INVALID_INPUT = 3, PTX_COMPILE = 4, INTERNAL = 6, LTO_NOT_ENABLED = 18 }; /* of nvJitLinkResult */
enum { INPUT_CUBIN = 1, INPUT_PTX = 2, INPUT_LTOIR = 3, INPUT_FATBIN = 4, INPUT_OBJECT = 5, INPUT_LIBRARY = 6 };
enum { LOG_ROOM = 4096 };

typedef struct Link {
    void *vendor; /* its handle; NULL where its library is not installed */
    int optimises, has_ir, done;
    int registers; /* the most that a thread may have; 0 for no bound */
    int64_t *codes, linked;
    size_t count;
    char log[LOG_ROOM];
} Link;

extern const char *const gs_jit_link_ending; /* of the symbols' names: the release (toolchain/driver_library.py) */

static void *vendor_function(const char *name) {
    static void *library;
    static pthread_mutex_t once = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&once);
    if (library == NULL && gs_board.vendor_jit_link != NULL)
        library = dlopen(gs_board.vendor_jit_link, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
    pthread_mutex_unlock(&once);
    return library != NULL ? dlsym(library, name) : NULL;
}

void *gs_jit_link(const char *name) {
    void *function = vendor_function(name);
    if (function == NULL)
        gs_refused(name, "NVIDIA's nvJitLink is not installed, or another release (pip install nvidia-nvjitlink)");
    return function;
}

static void *versioned(const char *name) {
    char symbol[128];
    snprintf(symbol, sizeof symbol, "__%s%s", name, gs_jit_link_ending);
    return vendor_function(symbol);
}

int gs_jit_link_create(void **handle, uint32_t count, const char **options) {
    int (*vendor)(void **, uint32_t, const char **) = versioned("nvJitLinkCreate");
    Link *made = calloc(1, sizeof *made);
    int asks = 0, result = SUCCESS;
    for (uint32_t i = 0; options != NULL && i < count; i++) {
        made->optimises |= strcmp(options[i], "-lto") == 0;
        asks |= strcmp(options[i], "-ptx") == 0;
        sscanf(options[i], "-maxrregcount=%d", &made->registers);
    }
    if (vendor == NULL && made->optimises) {
        gs_jit_link("nvJitLinkCreate");
        result = INTERNAL;
    }
    if (vendor != NULL) {
        const char **more = malloc((count + 1) * sizeof *more);
        if (count > 0)
            memcpy(more, options, count * sizeof *more);
        more[count] = "-ptx";
        result = vendor(&made->vendor, count + (made->optimises && !asks), more);
        free(more);
    }
    if (result == SUCCESS)
        *handle = made;
    else
        free(made);
    return result;
}

int gs_jit_link_destroy(void **handle) {
    if (handle == NULL || *handle == NULL)
        return INVALID_INPUT;
    Link *link = *handle;
    int (*vendor)(void **) = versioned("nvJitLinkDestroy");
    if (vendor != NULL && link->vendor != NULL)
        vendor(&link->vendor);
    free(link->codes);
    free(link);
    *handle = NULL;
    return SUCCESS;
}

static void keep(Link *link, int64_t code) {
    link->codes = realloc(link->codes, (link->count + 1) * sizeof *link->codes);
    link->codes[link->count++] = code;
}

static int kind_of(int type) {
    switch (type) {
    case INPUT_PTX:
        return CODE_PTX;
    case INPUT_FATBIN:
        return CODE_FAT_BINARY;
    case INPUT_OBJECT:
    case INPUT_LIBRARY:
        return CODE_OBJECT;
    default:
        return CODE_ANY;
    }
}

int gs_jit_link_add_data(void *handle, int type, const void *data, size_t bytes, const char *name) {
    Link *link = handle;
    int64_t code;
    if (link == NULL || data == NULL || bytes == 0)
        return INVALID_INPUT;
    if (type == INPUT_LTOIR && !link->optimises)
        return LTO_NOT_ENABLED;
    if (type == INPUT_LIBRARY && gs_is_device_runtime(data, bytes))
        return SUCCESS;
    char *log = link->log;
    if (type != INPUT_LTOIR && gs_board.code(data, bytes, kind_of(type) | link->registers << CODE_REGISTERS,
                                                 &code, log, LOG_ROOM) == cudaSuccess) {
        keep(link, code);
        return SUCCESS;
    }
    int (*vendor)(void *, int, const void *, size_t, const char *) = versioned("nvJitLinkAddData");
    if (!link->optimises || type == INPUT_PTX || vendor == NULL)
        return type == INPUT_PTX ? PTX_COMPILE : INVALID_INPUT;
    link->log[0] = 0; /* a fat binary or an object without PTX may have what is optimised */
    int result = vendor(link->vendor, type, data, bytes, name);
    link->has_ir |= result == SUCCESS;
    return result;
}

int gs_jit_link_add_file(void *handle, int type, const char *path) {
    char *data;
    size_t bytes;
    if (handle == NULL || path == NULL)
        return INVALID_INPUT;
    if (gs_read_file(path, &data, &bytes) != CUDA_SUCCESS)
        return INVALID_INPUT;
    int result = gs_jit_link_add_data(handle, type, data, bytes, path);
    free(data);
    return result;
}

/* What the vendor's library has made of the code that is optimised. */
static int add_optimised(Link *link) {
    size_t length;
    int64_t code;
    int (*complete)(void *) = versioned("nvJitLinkComplete");
    int (*size)(void *, size_t *) = versioned("nvJitLinkGetLinkedPtxSize");
    int (*text)(void *, char *) = versioned("nvJitLinkGetLinkedPtx");
    if (complete == NULL || size == NULL || text == NULL)
        return INTERNAL;
    int result = complete(link->vendor);
    if (result == SUCCESS)
        result = size(link->vendor, &length);
    if (result != SUCCESS)
        return result;
    char *ptx = calloc(1, length + 1);
    result = text(link->vendor, ptx);
    if (result == SUCCESS && gs_board.code(ptx, 0, CODE_ANY, &code, link->log, LOG_ROOM) != cudaSuccess)
        result = INTERNAL;
    free(ptx);
    if (result == SUCCESS)
        keep(link, code);
    return result;
}

int gs_jit_link_complete(void *handle) {
    Link *link = handle;
    if (link == NULL || link->done)
        return INVALID_INPUT;
    int result = link->has_ir ? add_optimised(link) : SUCCESS;
    if (result != SUCCESS)
        return result;
    if (link->count == 0)
        return INVALID_INPUT;
    if (link->count == 1)
        link->linked = link->codes[0];
    else if (gs_board.link_code(link->codes, link->count, &link->linked, link->log, LOG_ROOM) != cudaSuccess)
        return PTX_COMPILE;
    link->done = 1;
    return SUCCESS;
}

static int image_of(const Link *link, const void **image, uint64_t *bytes) {
    if (link == NULL || !link->done)
        return INVALID_INPUT;
    return gs_board.code_image(link->linked, image, bytes) == cudaSuccess ? SUCCESS : INTERNAL;
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

/* The PTX is what the vendor's library has made; the other texts are not in it, as on hardware. */
static int ask(const Link *link, const char *name, void *where, int without) {
    int (*vendor)(void *, void *) = link != NULL && link->vendor != NULL ? versioned(name) : NULL;
    return link == NULL ? INVALID_INPUT : vendor != NULL ? vendor(link->vendor, where) : without;
}

int gs_jit_link_ptx_size(void *handle, size_t *size) { return ask(handle, "nvJitLinkGetLinkedPtxSize", size, INTERNAL); }
int gs_jit_link_ptx(void *handle, char *ptx) { return ask(handle, "nvJitLinkGetLinkedPtx", ptx, INTERNAL); }
int gs_jit_link_ir_size(void *handle, size_t *size) { return ask(handle, "nvJitLinkGetLinkedLTOIRSize", size, INTERNAL); }
int gs_jit_link_ir(void *handle, void *ir) { return ask(handle, "nvJitLinkGetLinkedLTOIR", ir, INTERNAL); }

/* -- logs: ours where there is one, else the vendor's ------------------------------------------------------------- */
static int log_size(const Link *link, const char *name, const char *log, size_t *size) {
    *size = link != NULL && log[0] != 0 ? strlen(log) + 1 : 0;
    return link != NULL && log[0] != 0 ? SUCCESS : ask(link, name, size, SUCCESS);
}

static int log_text(const Link *link, const char *name, const char *log, char *text) {
    if (link == NULL || log[0] == 0)
        return ask(link, name, text, SUCCESS);
    strcpy(text, log);
    return SUCCESS;
}

int gs_jit_link_error_size(Link *link, size_t *size) {
    return log_size(link, "nvJitLinkGetErrorLogSize", link != NULL ? link->log : "", size);
}
int gs_jit_link_error(Link *link, char *text) {
    return log_text(link, "nvJitLinkGetErrorLog", link != NULL ? link->log : "", text);
}
int gs_jit_link_info_size(Link *link, size_t *size) { return log_size(link, "nvJitLinkGetInfoLogSize", "", size); }
int gs_jit_link_info(Link *link, char *text) { return log_text(link, "nvJitLinkGetInfoLog", "", text); }
