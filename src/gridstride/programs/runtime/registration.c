/* Modules, kernels and variables of the program: what nvcc's constructors register, loaded at first use.
 *
 * Registration runs before main() and only remembers. Two threads may launch first at once, so loading holds a lock.
 */
#include "runtime.h"

enum { IMAGES = 256 };

typedef struct Module {
    const void *images[IMAGES]; /* several where relocatable objects make one module */
    int count, managed; /* whether its __managed__ variables are there, which all GPUs share */
    int64_t numbers[GS_MOST_DEVICES]; /* Python's of each GPU, and one more: 0 until it is loaded there */
    struct Module *next;
} Module;

struct Kernel {
    Module *module;
    const void *function;
    const char *name;
    struct {
        KernelLayout layout;
        int loaded;
        int64_t max_dynamic;
        int carveout, any_cluster;
    } on[GS_MOST_DEVICES]; /* by GPU */
    struct Kernel *next;
};

typedef struct Variable {
    Module *module;
    const void *host;
    const char *name;
    void **managed; /* where the host looks for the address of a __managed__ variable */
    struct Variable *next;
} Variable;

static Module *modules;
static Module linked; /* the one module of all objects compiled with -rdc=true */
static Variable *variables;
enum { BUCKETS = 1024 };
static Kernel *kernels[BUCKETS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static unsigned bucket(const void *function) { return ((uintptr_t)function >> 4) % BUCKETS; }

/* The wrapper that nvcc writes around a fat binary (fatbinary_section.h). */
typedef struct {
    int magic, version;
    const void *data;
    void *names;
} Wrapper;

PUBLIC void **__cudaRegisterFatBinary(void *wrapper) {
    Module *module = calloc(1, sizeof *module);
    module->images[module->count++] = ((Wrapper *)wrapper)->data;
    module->next = modules;
    modules = module;
    return (void **)module;
}

PUBLIC void __cudaRegisterFatBinaryEnd(void **handle) { (void)handle; }
PUBLIC void __cudaUnregisterFatBinary(void **handle) { (void)handle; }

/* What __cudaRegisterLinkedBinary_<id> of every relocatable object comes to (programs/link.py writes those). */
PUBLIC void gs_register_linked(void (*registers)(void **), void *wrapper) {
    if (linked.count == IMAGES) {
        fprintf(stderr, "gridstride: more than %d relocatable objects are not supported\n", IMAGES);
        exit(1);
    }
    linked.images[linked.count++] = ((Wrapper *)wrapper)->data;
    registers((void **)&linked);
}

PUBLIC void __cudaRegisterFunction(void **handle, const char *function, char *device, const char *name, int limit,
                                   uint3 *tid, uint3 *bid, dim3 *block, dim3 *grid, int *warp) {
    (void)device, (void)limit, (void)tid, (void)bid, (void)block, (void)grid, (void)warp;
    Kernel *kernel = calloc(1, sizeof *kernel);
    *kernel = (Kernel){.module = (Module *)handle, .function = function, .name = name};
    for (int device = 0; device < GS_MOST_DEVICES; device++)
        kernel->on[device].carveout = -1;
    kernel->next = kernels[bucket(function)];
    kernels[bucket(function)] = kernel;
}

static void add_variable(void **handle, const void *host, const char *name, void **managed) {
    Variable *variable = calloc(1, sizeof *variable);
    *variable = (Variable){(Module *)handle, host, name, managed, variables};
    variables = variable;
}

PUBLIC void __cudaRegisterVar(void **handle, char *host, char *device, const char *name, int ext, size_t bytes,
                              int constant, int global) {
    (void)device, (void)ext, (void)bytes, (void)constant, (void)global;
    add_variable(handle, host, name, NULL);
}

PUBLIC void __cudaRegisterHostVar(void **handle, const char *name, char *host, size_t bytes) {
    (void)bytes;
    add_variable(handle, host, name, NULL);
}

PUBLIC void __cudaRegisterManagedVar(void **handle, void **host, char *device, const char *name, int ext, size_t bytes,
                                     int constant, int global) {
    (void)device, (void)ext, (void)bytes, (void)constant, (void)global;
    add_variable(handle, host, name, host);
}

static cudaError_t load_locked(Module *module) {
    int device = gs_current();
    if (module->numbers[device])
        return cudaSuccess;
    int64_t number;
    cudaError_t error = gs_board.load(module->images, module->count, device, &number);
    if (error != cudaSuccess)
        return error;
    module->numbers[device] = number + 1;
    for (Variable *each = variables; each != NULL; each = each->next) {
        uint64_t address, bytes;
        if (each->module != module || each->managed == NULL)
            continue;
        if (module->managed) {
            gs_board.share(number, each->name, (uint64_t)*each->managed);
            continue;
        }
        error = gs_board.variable(number, each->name, &address, &bytes);
        if (error != cudaSuccess)
            return error;
        *each->managed = (void *)address;
        gs_remember(address, bytes, GS_MANAGED, address, 0);
        gs_board.share(number, each->name, address);
        gs_written((void *)address, bytes);
    }
    module->managed = 1;
    return cudaSuccess;
}

static cudaError_t load(Module *module) {
    pthread_mutex_lock(&lock);
    cudaError_t error = load_locked(module);
    pthread_mutex_unlock(&lock);
    return error;
}

PUBLIC char __cudaInitModule(void **handle) { return load((Module *)handle) == cudaSuccess; }

static void unload(Module *module, int device) {
    if (module->numbers[device])
        gs_board.unload(module->numbers[device] - 1);
    module->numbers[device] = 0;
    module->managed = 0;
    for (int other = 0; other < GS_MOST_DEVICES; other++)
        module->managed |= module->numbers[other] != 0;
}

void gs_unload_modules(int device) {
    pthread_mutex_lock(&lock);
    for (Module *module = modules; module != NULL; module = module->next)
        unload(module, device);
    unload(&linked, device);
    for (int i = 0; i < BUCKETS; i++)
        for (Kernel *kernel = kernels[i]; kernel != NULL; kernel = kernel->next)
            kernel->on[device].loaded = 0;
    pthread_mutex_unlock(&lock);
}

static Kernel *registered(const void *function) {
    for (Kernel *kernel = kernels[bucket(function)]; kernel != NULL; kernel = kernel->next)
        if (kernel->function == function || (const void *)kernel == function)
            return kernel;
    return NULL;
}

cudaError_t gs_kernel(const void *function, Kernel **kernel) {
    *kernel = function != NULL ? registered(function) : NULL;
    for (int i = 0; i < BUCKETS && *kernel == NULL; i++) /* a cudaKernel_t or cudaFunction_t, which is ours */
        for (Kernel *each = kernels[i]; each != NULL; each = each->next)
            if ((const void *)each == function)
                *kernel = each;
    return *kernel != NULL ? cudaSuccess : cudaErrorInvalidDeviceFunction;
}

const void *gs_kernel_function(const Kernel *kernel) { return kernel->function; }

cudaError_t gs_kernel_layout(Kernel *kernel, const KernelLayout **layout) {
    cudaError_t error = cudaSuccess;
    int device = gs_current();
    int *loaded = &kernel->on[device].loaded;
    if (!__atomic_load_n(loaded, __ATOMIC_ACQUIRE)) {
        pthread_mutex_lock(&lock);
        error = load_locked(kernel->module);
        if (error == cudaSuccess && !*loaded) {
            error = gs_board.kernel(kernel->module->numbers[device] - 1, kernel->name, &kernel->on[device].layout);
            if (error == cudaSuccess)
                __atomic_store_n(loaded, 1, __ATOMIC_RELEASE);
        }
        pthread_mutex_unlock(&lock);
    }
    *layout = &kernel->on[device].layout;
    return error;
}

const char *gs_kernel_name(const Kernel *kernel) { return kernel->name; }
void gs_set_max_dynamic(Kernel *kernel, int64_t bytes) { kernel->on[gs_current()].max_dynamic = bytes; }
int64_t gs_max_dynamic(const Kernel *kernel) { return kernel->on[gs_current()].max_dynamic; }
void gs_set_carveout(Kernel *kernel, int percent) { kernel->on[gs_current()].carveout = percent; }
int gs_carveout(const Kernel *kernel) { return kernel->on[gs_current()].carveout; }
void gs_allow_any_cluster(Kernel *kernel, int allowed) { kernel->on[gs_current()].any_cluster = allowed; }

cudaError_t gs_symbol(const void *symbol, uint64_t *address, uint64_t *bytes) {
    for (Variable *each = variables; each != NULL; each = each->next) {
        /* of a __managed__ variable the program gives the address of the host's pointer, or what it holds */
        if (each->host != symbol && !(each->managed != NULL && *each->managed == symbol))
            continue;
        cudaError_t error = load(each->module);
        int64_t number = each->module->numbers[gs_current()] - 1;
        return error != cudaSuccess ? error : gs_board.variable(number, each->name, address, bytes);
    }
    return cudaErrorInvalidSymbol;
}

PUBLIC cudaError_t __cudaGetKernel(cudaKernel_t *kernel, const void *function) {
    Kernel *known;
    TRY(gs_kernel(function, &known));
    *kernel = (cudaKernel_t)known;
    return cudaSuccess;
}

PUBLIC cudaError_t cudaGetKernel(cudaKernel_t *kernel, const void *function) {
    CHECK(kernel != NULL, cudaErrorInvalidValue);
    return __cudaGetKernel(kernel, function);
}

PUBLIC cudaError_t cudaGetFuncBySymbol(cudaFunction_t *function, const void *symbol) {
    CHECK(function != NULL, cudaErrorInvalidValue);
    return __cudaGetKernel((cudaKernel_t *)function, symbol);
}

PUBLIC cudaError_t cudaFuncGetName(const char **name, const void *function) {
    Kernel *kernel;
    CHECK(name != NULL, cudaErrorInvalidValue);
    TRY(gs_kernel(function, &kernel));
    *name = kernel->name;
    return cudaSuccess;
}

PUBLIC cudaError_t cudaGetSymbolAddress(void **pointer, const void *symbol) {
    ENTER();
    uint64_t address, bytes;
    CHECK(pointer != NULL, cudaErrorInvalidValue);
    TRY(gs_symbol(symbol, &address, &bytes));
    *pointer = (void *)address;
    return cudaSuccess;
}

PUBLIC cudaError_t cudaGetSymbolSize(size_t *size, const void *symbol) {
    ENTER();
    uint64_t address, bytes;
    CHECK(size != NULL, cudaErrorInvalidValue);
    TRY(gs_symbol(symbol, &address, &bytes));
    *size = bytes;
    return cudaSuccess;
}
