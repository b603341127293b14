/* Work that a late device does when the host waits for it (late_work.py); a kernel's launch is put off there. */
#include "runtime.h"

typedef struct {
    void (*work)(const void *argument);
    int device;
    uint64_t number;
    _Alignas(16) char argument[];
} Late;

static _Thread_local int running; /* what work does is a part of it, and not put off again */
static _Thread_local uint64_t running_number;
static uint64_t last_number; /* of all that was put off or given back, in the order of these calls */

static uint64_t next_number(void) { return __atomic_add_fetch(&last_number, 1, __ATOMIC_RELAXED); }

int gs_is_late(void) { return gs_board.models == MODELS_LATE && !running; }

static void run(void *given) {
    Late *late = given;
    int before = gs_current();
    gs_make_current(late->device);
    running++;
    running_number = late->number;
    late->work(late->argument);
    running--;
    gs_make_current(before);
    free(late);
}

cudaError_t gs_put_off(cudaStream_t stream, void (*work)(const void *argument), const void *argument, size_t bytes) {
    Late *late = malloc(sizeof *late + bytes);
    *late = (Late){.work = work, .device = gs_current(), .number = next_number()};
    memcpy(late->argument, argument, bytes);
    gs_board.put_off(gs_stream_number(stream), run, late);
    return cudaSuccess;
}

void gs_catch_up(void) {
    for (int device = 0; gs_is_late() && device < gs_board.devices; device++)
        gs_board.waited(WAITED_DEVICE, device);
}

/* -- memory that the host has given back, and earlier work still uses ---------------------------------------------- */
typedef struct Going Going;
struct Going {
    Block block;
    uint64_t number;
    Going *next;
};
static Going *going;
static pthread_mutex_t going_lock = PTHREAD_MUTEX_INITIALIZER;

static void let_go(void *given) {
    Going *gone = given;
    pthread_mutex_lock(&going_lock);
    Going **place = &going;
    while (*place != NULL && *place != gone)
        place = &(*place)->next;
    if (*place != NULL)
        *place = gone->next;
    pthread_mutex_unlock(&going_lock);
    gs_stop_sharing(gone->block.start);
    gs_board.release(gone->block.start);
    free(gone);
}

void gs_give_back_later(const Block *block, const cudaStream_t *stream) {
    Going *added = malloc(sizeof *added);
    *added = (Going){.block = *block, .number = next_number()};
    gs_refuse_to_open(block->start);
    pthread_mutex_lock(&going_lock);
    added->next = going;
    __atomic_store_n(&going, added, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&going_lock);
    gs_board.give_back(block->start, stream != NULL ? gs_stream_number(*stream) : 0, let_go, added);
}

int gs_is_given_back(const void *pointer, Block *block) {
    uint64_t address = (uint64_t)pointer;
    if (__atomic_load_n(&going, __ATOMIC_ACQUIRE) == NULL)
        return 0;
    pthread_mutex_lock(&going_lock);
    const Going *found = going;
    while (found != NULL && address - found->block.start >= found->block.bytes)
        found = found->next;
    int is_for_work = found != NULL && running && running_number < found->number;
    if (is_for_work)
        *block = found->block;
    pthread_mutex_unlock(&going_lock);
    return found == NULL ? 0 : is_for_work ? GIVEN_BACK_LATER : GIVEN_BACK;
}

void gs_give_back_all(void) {
    while (going != NULL)
        let_go(going);
}
