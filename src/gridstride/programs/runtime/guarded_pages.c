/* Pages of memory that the host must not use now, as work that it has not waited for does: under the sanitizer whoever
 * uses them all the same is told of (order/stream_order.py), and goes on. Only pages of which the host may use no byte:
 * the system gives EFAULT to a call that uses one, where an instruction runs into a fault. */
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

enum { MOST = 512, FRAMES = 24, BOTH = PROT_READ | PROT_WRITE, PAGE = 4096 };
static Guarded guarded[MOST];
static volatile int count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct sigaction before;

static void protect(uint64_t start, uint64_t end, int how) { mprotect((void *)start, end - start, how); }

/* The last range that holds an address is the one that counts; NULL for none. */
static const Guarded *range_of(uint64_t address) {
    for (int i = count - 1; i >= 0; i--)
        if (guarded[i].start <= address && address < guarded[i].end)
            return &guarded[i];
    return NULL;
}

static int protection(const Guarded *range) { return range->readable ? PROT_READ : PROT_NONE; }

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

/* Of the frames those from the instruction on, which is `before` the address that the stack has. Whether it was told: what
 * is guarded has changed then. */
static int tell(uint64_t address, uint64_t bytes, int writes, uint64_t at, int before) {
    void *frames[FRAMES];
    int found = backtrace(frames, FRAMES), first = 0;
    while (first < found && (uint64_t)frames[first] != at)
        first++;
    uint64_t stack[FRAMES + 1] = {at - before};
    int64_t depth = 1;
    for (int i = first + 1; i < found; i++)
        stack[depth++] = (uint64_t)frames[i];
    return gs_board.touched(address, bytes, writes, stack, depth) != 0;
}

static void touched(int signal, siginfo_t *info, void *given) {
    uint64_t address = (uint64_t)info->si_addr;
    const Guarded *range = range_of(address);
    if (range == NULL) { /* a fault of the program's own: it happens once more, to whoever had it before */
        sigaction(signal, &before, NULL);
        return;
    }
    int writes = is_write(given);
    if (!writes && range->readable) /* it has been given back meanwhile */
        return;
    if (!tell(address, 1, writes, instruction(given), 0) || range_of(address) != NULL) /* behind the end of what is used */
        protect(address / PAGE * PAGE, address / PAGE * PAGE + PAGE, BOTH);
}

static void install(void) {
    static int installed;
    if (installed)
        return;
    struct sigaction fault = {.sa_sigaction = touched, .sa_flags = SA_SIGINFO | SA_NODEFER};
    void *warmed_up[1];
    backtrace(warmed_up, 1); /* it may load a library the first time */
    sigaction(SIGSEGV, &fault, &before);
    installed = 1;
}

static int same(const Guarded *range, const uint64_t *words) {
    return range->start == words[0] && range->end == words[1] && range->readable == words[2];
}

/* Ranges that stay at the beginning of the list keep their protection. */
PUBLIC void gs_guard(const uint64_t *words, int64_t ranges) {
    pthread_mutex_lock(&lock);
    if (ranges > 0)
        install();
    ranges = ranges < MOST ? ranges : MOST;
    int kept = 0;
    while (kept < count && kept < ranges && same(&guarded[kept], words + 3 * kept))
        kept++;
    const int were = count;
    count = kept;
    for (int i = kept; i < were; i++) {
        protect(guarded[i].start, guarded[i].end, BOTH);
        gs_close_for_work((void *)guarded[i].start, guarded[i].end - guarded[i].start); /* it may have lain over one that stays */
    }
    for (int64_t i = kept; i < ranges; i++) {
        Guarded range = {words[3 * i], words[3 * i + 1], words[3 * i + 2]};
        guarded[i] = range;
        count = i + 1;
        protect(range.start, range.end, protection(&range));
    }
    pthread_mutex_unlock(&lock);
}

/* -- opened for a while -------------------------------------------------------------------------------------------- */
void gs_open_for_work(const void *pointer, size_t bytes) {
    uint64_t start = (uint64_t)pointer, end = start + bytes;
    for (int i = 0; i < count; i++)
        if (guarded[i].start < end && start < guarded[i].end)
            protect(guarded[i].start, guarded[i].end, BOTH);
}

void gs_close_for_work(const void *pointer, size_t bytes) {
    uint64_t start = (uint64_t)pointer, end = start + bytes;
    for (int i = 0; i < count; i++)
        if (guarded[i].start < end && start < guarded[i].end)
            protect(guarded[i].start, guarded[i].end, protection(&guarded[i]));
}

void gs_tell_host_use(const void *pointer, size_t bytes, int writes, const void *site) {
    uint64_t start = (uint64_t)pointer, end = start + bytes;
    int told = bytes > 0;
    for (int again = 0; told && again < MOST; again++) { /* several pieces of work may use them */
        told = 0;
        for (int i = count - 1; i >= 0 && !told; i--)
            if (guarded[i].start < end && start < guarded[i].end && (writes || !guarded[i].readable))
                told = tell(start, bytes, writes, (uint64_t)site, 1);
    }
}
