/* Error codes: the last one of each thread, a kernel's fault for all, and the words of each. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <execinfo.h>

#include "runtime.h"

static _Thread_local cudaError_t last_error = cudaSuccess;
static cudaError_t fault = cudaSuccess;
static int fault_reported = 0; /* whether a call that waits for the device has come since */

/* -- errors that calls return under the sanitizer, until the program looks at them -------------------------------- */
enum { FRAMES = 16, COMPARED = 8, MOST_FAILED = 256 };
typedef struct {
    const char *call;
    const void *kernel, *site; /* what a launch is of; where the call, or <<<>>>'s first one, returns to */
    cudaError_t error;
    int looked_at, frames;
    int64_t times;
    pthread_t thread;
    void *stack[FRAMES];
} Failed;
static Failed failed[MOST_FAILED];
static int failed_calls = 0;
static pthread_mutex_t failed_lock = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local struct {
    const char *name;
    const void *returns_to, *site, *kernel;
    int noted;
} call;
static _Thread_local const void *configured;

void gs_launch_configured(const void *site) { configured = site; }

void gs_begin_call(const char *name, const void *site, const void *kernel) {
    call.name = name, call.returns_to = site, call.kernel = kernel, call.noted = 0;
    call.site = kernel != NULL && configured != NULL ? configured : site;
    configured = NULL;
}

PUBLIC void gs_current_call(const char **name, const void **site) { *name = call.name, *site = call.site; }

extern const char __ehdr_start[] __attribute__((visibility("hidden"))), etext[] __attribute__((visibility("hidden")));
static int is_own(const void *address) { return (const char *)address >= __ehdr_start && (const char *)address < etext; }

/* What called the runtime, from the inside outwards, and the symbol of the runtime's outermost function, NULL where it
 * has none. Whoever asks is called by the runtime, by way of frames of its own. */
PUBLIC int gs_callers(uint64_t *words, int most, const char **name) {
    enum { DEEP = 128 };
    void *stack[DEEP];
    const int frames = backtrace(stack, DEEP);
    int first = 1, count = 0;
    while (first < frames && !is_own(stack[first]))
        first++;
    while (first < frames && is_own(stack[first]))
        first++;
    Dl_info symbol;
    const int known = first < frames && dladdr((const char *)stack[first - 1] - 1, &symbol) != 0;
    *name = known ? symbol.dli_sname : NULL;
    for (int i = first; i < frames && count < most; i++)
        words[count++] = (uint64_t)stack[i];
    return count;
}

/* `call` is an earlier one where the runtime itself, or a library of ours, calls what fails: the stack does not have
 * the place that it returns to then. */
static int is_called_now(void *const *stack, int frames) {
    for (int i = 0; i < frames; i++)
        if (stack[i] == call.returns_to)
            return 1;
    return 0;
}

/* Launches come through one function of nvcc's: who called it tells them apart. */
static int is_same(const Failed *known, cudaError_t error, void *const *stack, int frames) {
    const int compared = frames < COMPARED ? frames : COMPARED;
    return known->error == error && known->site == call.site && known->kernel == call.kernel && known->frames == frames &&
           memcmp(known->stack, stack, compared * sizeof *stack) == 0;
}

static void remember(cudaError_t error, void *const *stack, int frames) {
    call.noted = 1;
    pthread_mutex_lock(&failed_lock);
    int i = 0;
    while (i < failed_calls && !is_same(&failed[i], error, stack, frames))
        i++;
    if (i < MOST_FAILED) {
        Failed *known = &failed[i];
        failed_calls += i == failed_calls;
        known->call = call.name, known->kernel = call.kernel, known->error = error;
        known->site = call.site, known->looked_at = 0, known->times++, known->thread = pthread_self(), known->frames = frames;
        memcpy(known->stack, stack, frames * sizeof *stack);
    }
    pthread_mutex_unlock(&failed_lock);
}

static void note(cudaError_t error) {
    if (call.name == NULL || call.noted || error == cudaErrorNotReady)
        return;
    void *stack[FRAMES];
    const int frames = backtrace(stack, FRAMES);
    if (is_called_now(stack, frames))
        remember(error, stack, frames);
}

cudaError_t gs_fail_call(cudaError_t error) {
    void *stack[1] = {(void *)call.returns_to};
    if (error != cudaSuccess && gs_board.watches)
        remember(error, stack, 1);
    return gs_error(error);
}

/* The program asks for its thread's last error, or what an error is called. */
static void looked_at(cudaError_t error, int of_this_thread) {
    if (failed_calls == 0 || error == cudaSuccess)
        return;
    pthread_mutex_lock(&failed_lock);
    for (int i = 0; i < failed_calls; i++)
        if (of_this_thread ? pthread_equal(failed[i].thread, pthread_self()) : failed[i].error == error)
            failed[i].looked_at = 1;
    pthread_mutex_unlock(&failed_lock);
}

static const char *words(const char *function, cudaError_t error);

void gs_tell_failed(void) {
    for (int i = 0; i < failed_calls; i++) {
        const Failed *of = &failed[i];
        const char *kernel = NULL;
        if (of->looked_at)
            continue;
        call.name = NULL;
        if (of->kernel != NULL)
            cudaFuncGetName(&kernel, of->kernel);
        gs_board.failed(of->call, kernel, words("cudaGetErrorName", of->error), words("cudaGetErrorString", of->error),
                        of->site, of->stack, of->frames, of->times);
    }
}

cudaError_t gs_error(cudaError_t error) {
    if (error != cudaSuccess) {
        last_error = error;
        if (gs_board.watches)
            note(error);
    }
    return error;
}

static _Thread_local cudaError_t kept_error;
void gs_keep_last_error(void) { kept_error = last_error; }
void gs_restore_last_error(void) { last_error = kept_error; }

cudaError_t gs_fault(void) {
    if (fault != cudaSuccess)
        fault_reported = 1;
    return fault;
}

PUBLIC void gs_set_fault(cudaError_t error) {
    if (fault == cudaSuccess)
        fault = error;
}

cudaError_t gs_refused(const char *name, const char *reason) {
    enum { MOST = 512 };
    static const char *named[MOST];
    static int count = 0;
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&lock);
    int known = 0;
    for (int i = 0; i < count && !known; i++)
        known = named[i] == name;
    if (!known && count < MOST) {
        named[count++] = name;
        fprintf(stderr, "gridstride: %s is not supported: %s\n", name, reason);
    }
    pthread_mutex_unlock(&lock);
    return gs_error(cudaErrorNotSupported);
}

PUBLIC cudaError_t cudaGetLastError(void) {
    if (fault_reported)
        return fault; /* sticky: asking does not clear it */
    cudaError_t error = last_error;
    last_error = cudaSuccess;
    looked_at(error, 1);
    return error;
}

PUBLIC cudaError_t cudaPeekAtLastError(void) {
    looked_at(last_error, 1);
    return fault_reported ? fault : last_error;
}

/* The words are NVIDIA's: its runtime gives them without a GPU too. */
static const char *words(const char *function, cudaError_t error) {
    static void *library = NULL;
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&lock);
    if (library == NULL && gs_board.vendor_runtime != NULL)
        library = dlopen(gs_board.vendor_runtime, RTLD_NOW | RTLD_LOCAL);
    pthread_mutex_unlock(&lock);
    const char *(*ask)(cudaError_t) = NULL;
    if (library != NULL)
        *(void **)&ask = dlsym(library, function);
    return ask != NULL ? ask(error) : "unrecognized error code";
}

PUBLIC const char *cudaGetErrorString(cudaError_t error) {
    looked_at(error, 0);
    return words("cudaGetErrorString", error);
}

PUBLIC const char *cudaGetErrorName(cudaError_t error) {
    looked_at(error, 0);
    return words("cudaGetErrorName", error);
}
