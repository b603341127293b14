/* Error codes: the last one of each thread, a kernel's fault for all, and the words of each. */
#include <dlfcn.h>

#include "runtime.h"

static _Thread_local cudaError_t last_error = cudaSuccess;
static cudaError_t fault = cudaSuccess;
static int fault_reported = 0; /* whether a call that waits for the device has come since */

cudaError_t gs_error(cudaError_t error) {
    if (error != cudaSuccess)
        last_error = error;
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
    return error;
}

PUBLIC cudaError_t cudaPeekAtLastError(void) { return fault_reported ? fault : last_error; }

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

PUBLIC const char *cudaGetErrorString(cudaError_t error) { return words("cudaGetErrorString", error); }
PUBLIC const char *cudaGetErrorName(cudaError_t error) { return words("cudaGetErrorName", error); }
