/* Pages of memory that the host must not use now, as work that it has not waited for does: under the sanitizer whoever
 * uses them all the same is told of (order/stream_order.py), and goes on. */
#define _GNU_SOURCE
#include <execinfo.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "runtime.h"

typedef struct {
    uint64_t start, end, readable;
} Guarded;

enum { MOST = 512, FRAMES = 24, BOTH = PROT_READ | PROT_WRITE };
static Guarded guarded[MOST];
static volatile int count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct sigaction before;

static void protect(const Guarded *range, int how) {
    mprotect((void *)range->start, range->end - range->start, how);
}

static int is_guarded(uint64_t address) {
    for (int i = 0; i < count; i++)
        if (guarded[i].start <= address && address < guarded[i].end)
            return 1;
    return 0;
}

static int is_write(const ucontext_t *context) {
#if defined(__x86_64__)
    return (context->uc_mcontext.gregs[REG_ERR] & 2) != 0;
#else
    /* The record of the exception's syndrome: its bit 6 says so. */
    enum { ESR_MAGIC = 0x45535201, WRITE = 1 << 6 };
    const uint8_t *record = context->uc_mcontext.__reserved;
    for (;;) {
        uint32_t magic, size;
        memcpy(&magic, record, sizeof magic);
        memcpy(&size, record + 4, sizeof size);
        if (magic == 0 || size == 0)
            return 1;
        if (magic == ESR_MAGIC) {
            uint64_t syndrome;
            memcpy(&syndrome, record + 8, sizeof syndrome);
            return (syndrome & WRITE) != 0;
        }
        record += size;
    }
#endif
}

static uint64_t instruction(const ucontext_t *context) {
#if defined(__x86_64__)
    return context->uc_mcontext.gregs[REG_RIP];
#else
    return context->uc_mcontext.pc;
#endif
}

/* Of the frames behind the handler's, those from the instruction on. */
static void tell(uint64_t address, int writes, uint64_t at) {
    void *frames[FRAMES];
    int found = backtrace(frames, FRAMES), first = 0;
    while (first < found && (uint64_t)frames[first] != at)
        first++;
    uint64_t stack[FRAMES + 1] = {at};
    int64_t depth = 1;
    for (int i = first + 1; i < found; i++)
        stack[depth++] = (uint64_t)frames[i];
    gs_board.touched(address, writes, stack, depth);
}

static void touched(int signal, siginfo_t *info, void *given) {
    static _Thread_local uint64_t last;
    static _Thread_local int again;
    uint64_t address = (uint64_t)info->si_addr;
    if (!is_guarded(address)) { /* a fault of the program's own: it happens once more, to whoever had it before */
        sigaction(signal, &before, NULL);
        return;
    }
    again = last == address ? again + 1 : 0;
    last = address;
    if (again < 2)
        tell(address, is_write(given), instruction(given));
    else /* nobody knows why, and the program is to go on */
        gs_guard(NULL, 0);
}

PUBLIC void gs_guard(const uint64_t *words, int64_t ranges) {
    static int installed;
    pthread_mutex_lock(&lock);
    if (!installed && ranges > 0) {
        struct sigaction action = {.sa_sigaction = touched, .sa_flags = SA_SIGINFO | SA_NODEFER};
        void *warmed_up[1];
        backtrace(warmed_up, 1); /* it may load a library the first time */
        sigaction(SIGSEGV, &action, &before);
        installed = 1;
    }
    for (int i = 0; i < count; i++)
        protect(&guarded[i], BOTH);
    count = 0;
    for (int64_t i = 0; i < ranges && i < MOST; i++) {
        Guarded range = {words[3 * i], words[3 * i + 1], words[3 * i + 2]};
        guarded[count] = range;
        count++;
        protect(&range, range.readable ? PROT_READ : PROT_NONE);
    }
    pthread_mutex_unlock(&lock);
}
