/* Modules, kernels and variables of the program: what nvcc's constructors register, loaded at first use.
 *
 * Registration runs before main() and only remembers. Two threads may launch first at once, so loading holds a lock.
 */
#include "runtime.h"

enum { IMAGES = 256 };

struct Module {
    const void *images[IMAGES]; /* several where relocatable objects make one module */
    int count, managed; /* whether its __managed__ variables are there, which all GPUs share */
    int64_t numbers[GS_MOST_DEVICES]; /* Python's of each GPU, and one more: 0 until it is loaded there */
    int at_run_time, gone;            /* whether the program gave the code while it ran, and has unloaded it */
    int64_t code;                     /* Python's number of that code */
    const Context *context;           /* whose module it is; NULL for a library */
    Module *next;
};

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
    Kernel *next;
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

/* What __cudaRegisterLinkedBinary_<id> of every relocatable object comes to (programs/toolchain/link.py writes those). */
PUBLIC void gs_register_linked(void (*registers)(void **), void *wrapper) {
    if (linked.count == IMAGES) {
        fprintf(stderr, "gridstride: more than %d relocatable objects are not supported\n", IMAGES);
        exit(1);
    }
    linked.images[linked.count++] = ((Wrapper *)wrapper)->data;
    registers((void **)&linked);
}

static void add_kernel(Kernel *kernel) {
    for (int device = 0; device < GS_MOST_DEVICES; device++)
        kernel->on[device].carveout = -1;
    Kernel **first = &kernels[bucket(kernel->function)];
    kernel->next = *first;
    __atomic_store_n(first, kernel, __ATOMIC_RELEASE); /* others may be looking for theirs */
}

PUBLIC void __cudaRegisterFunction(void **handle, const char *function, char *device, const char *name, int limit,
                                   uint3 *tid, uint3 *bid, dim3 *block, dim3 *grid, int *warp) {
    (void)device, (void)limit, (void)tid, (void)bid, (void)block, (void)grid, (void)warp;
    Kernel *kernel = calloc(1, sizeof *kernel);
    *kernel = (Kernel){.module = (Module *)handle, .function = function, .name = name};
    add_kernel(kernel);
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

static cudaError_t load_locked(Module *module, char *log, uint64_t room) {
    int device = gs_current();
    if (module->numbers[device])
        return cudaSuccess;
    int64_t number;
    cudaError_t error = module->at_run_time ? gs_board.load_code(module->code, device, &number, log, room)
                                            : gs_board.load(module->images, module->count, device, &number);
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
    cudaError_t error = load_locked(module, NULL, 0);
    pthread_mutex_unlock(&lock);
    return error;
}

PUBLIC char __cudaInitModule(void **handle) { return load((Module *)handle) == cudaSuccess; }

static void unload(Module *module, int device) { /* the caller holds the lock */
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
        if (module->context == NULL)
            unload(module, device);
    unload(&linked, device);
    for (int i = 0; i < BUCKETS; i++)
        for (Kernel *kernel = kernels[i]; kernel != NULL; kernel = kernel->next)
            if (kernel->module->context == NULL)
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
    return *kernel != NULL && !(*kernel)->module->gone ? cudaSuccess : cudaErrorInvalidDeviceFunction;
}

const void *gs_kernel_function(const Kernel *kernel) { return kernel->function; }

cudaError_t gs_kernel_layout(Kernel *kernel, const KernelLayout **layout) {
    cudaError_t error = cudaSuccess;
    int device = gs_current();
    if (kernel->module->context != NULL && gs_context_device(kernel->module->context) != device)
        return cudaErrorInvalidResourceHandle; /* a module is of one context */
    int *loaded = &kernel->on[device].loaded;
    if (!__atomic_load_n(loaded, __ATOMIC_ACQUIRE)) {
        pthread_mutex_lock(&lock);
        error = load_locked(kernel->module, NULL, 0);
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
int64_t gs_most_cluster(const Kernel *kernel) {
    return kernel->on[gs_current()].any_cluster ? MOST_BLOCKS_IN_CLUSTER : PORTABLE_CLUSTER;
}

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

/* Of a variable by its name, as programs of CUDA 4 say it (cuda11/old_runtime.h); the symbol itself where there is none. */
PUBLIC const void *gs_symbol_of_name(const void *symbol, const char *name) {
    for (Variable *each = variables; each != NULL; each = each->next)
        if (each->host == symbol)
            return symbol;
    for (Variable *each = variables; each != NULL; each = each->next)
        if (strcmp(each->name, name) == 0)
            return each->managed != NULL ? *each->managed : each->host;
    return symbol;
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

/* -- code that the program gives while it runs --------------------------------------------------------------------- */
Module *gs_new_module(int64_t code, const Context *context) {
    Module *module = calloc(1, sizeof *module);
    *module = (Module){.at_run_time = 1, .code = code, .context = context};
    pthread_mutex_lock(&lock);
    module->next = modules;
    modules = module;
    pthread_mutex_unlock(&lock);
    return module;
}

/* Handles that were unloaded stay readable, so that who uses one gets an error and no crash. */
int gs_is_module(const Module *module) {
    for (Module *each = modules; each != NULL; each = each->next)
        if (each == module)
            return each->at_run_time && !each->gone;
    return 0;
}

int gs_is_library(const Module *module) { return gs_is_module(module) && module->context == NULL; }

cudaError_t gs_load_module(Module *module, char *log, uint64_t room) {
    pthread_mutex_lock(&lock);
    cudaError_t error = load_locked(module, log, room);
    pthread_mutex_unlock(&lock);
    return error;
}

static void forget_module(Module *module) {
    for (int device = 0; device < GS_MOST_DEVICES; device++)
        unload(module, device);
    module->gone = 1;
}

void gs_unload_module(Module *module) {
    pthread_mutex_lock(&lock);
    forget_module(module);
    pthread_mutex_unlock(&lock);
}

void gs_unload_context(const Context *context) {
    pthread_mutex_lock(&lock);
    for (Module *module = modules; module != NULL; module = module->next)
        if (module->at_run_time && !module->gone && module->context == context)
            forget_module(module);
    pthread_mutex_unlock(&lock);
}

static Kernel *of_module(const Module *module, const char *name) {
    for (int i = 0; i < BUCKETS; i++)
        for (Kernel *kernel = kernels[i]; kernel != NULL; kernel = kernel->next)
            if (kernel->module == module && strcmp(kernel->name, name) == 0)
                return kernel;
    return NULL;
}

cudaError_t gs_module_kernel(Module *module, const char *name, Kernel **kernel) {
    pthread_mutex_lock(&lock);
    cudaError_t error = load_locked(module, NULL, 0);
    KernelLayout layout;
    *kernel = of_module(module, name);
    if (error == cudaSuccess && *kernel == NULL)
        error = gs_board.kernel(module->numbers[gs_current()] - 1, name, &layout);
    if (error == cudaSuccess && *kernel == NULL) {
        *kernel = calloc(1, sizeof **kernel);
        **kernel = (Kernel){.module = module, .function = *kernel, .name = strdup(name)};
        add_kernel(*kernel);
    }
    pthread_mutex_unlock(&lock);
    return error;
}

cudaError_t gs_module_variable(Module *module, const char *name, uint64_t *address, uint64_t *bytes) {
    cudaError_t error = gs_load_module(module, NULL, 0);
    return error != cudaSuccess ? error : gs_board.variable(module->numbers[gs_current()] - 1, name, address, bytes);
}

const char *gs_module_entry(Module *module, int64_t number) {
    if (gs_load_module(module, NULL, 0) != cudaSuccess)
        return NULL;
    return gs_board.entry(module->numbers[gs_current()] - 1, number);
}

Module *gs_kernel_module(const Kernel *kernel) { return kernel->module; }
int gs_kernel_loaded(const Kernel *kernel) { return kernel->on[gs_current()].loaded; }
