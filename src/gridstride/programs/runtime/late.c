/* Work that a late device does when the host waits for it (late_work.py); a kernel's launch is put off there. */
#include "runtime.h"

typedef struct {
    void (*work)(const void *argument);
    int device;
    _Alignas(16) char argument[];
} Late;

static _Thread_local int running; /* what work does is a part of it, and not put off again */

int gs_is_late(void) { return gs_board.models == MODELS_LATE && !running; }

static void run(void *given) {
    Late *late = given;
    int before = gs_current();
    gs_make_current(late->device);
    running++;
    late->work(late->argument);
    running--;
    gs_make_current(before);
    free(late);
}

cudaError_t gs_put_off(cudaStream_t stream, void (*work)(const void *argument), const void *argument, size_t bytes) {
    Late *late = malloc(sizeof *late + bytes);
    *late = (Late){.work = work, .device = gs_current()};
    memcpy(late->argument, argument, bytes);
    gs_board.put_off(gs_stream_number(stream), run, late);
    return cudaSuccess;
}

void gs_catch_up(void) {
    for (int device = 0; gs_is_late() && device < gs_board.devices; device++)
        gs_board.waited(WAITED_DEVICE, device);
}
