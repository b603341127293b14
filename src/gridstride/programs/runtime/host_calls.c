/* Calls of the C library by which the system reads or writes the program's memory: the system does not run into a
 * guarded page as an instruction does, but gives EFAULT. So the program's own entries for them lead here first. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#include "runtime.h"

enum { READS, WRITES }; /* the host, memory */

#define THROUGH(result, call, pointer, bytes, how) \
    gs_tell_host_use(pointer, bytes, how, __builtin_return_address(0)); \
    gs_open_for_work(pointer, bytes); \
    result = call; \
    gs_close_for_work(pointer, bytes); \
    return result

#define THROUGH_PARTS(result, call, parts, number, how) \
    open_parts(parts, number, how, __builtin_return_address(0)); \
    result = call; \
    close_parts(parts, number); \
    return result

static void open_parts(const struct iovec *parts, size_t number, int how, void *site) {
    for (size_t i = 0; i < number; i++) {
        gs_tell_host_use(parts[i].iov_base, parts[i].iov_len, how, site);
        gs_open_for_work(parts[i].iov_base, parts[i].iov_len);
    }
}
static void close_parts(const struct iovec *parts, size_t number) {
    for (size_t i = 0; i < number; i++)
        gs_close_for_work(parts[i].iov_base, parts[i].iov_len);
}

static ssize_t our_write(int file, const void *from, size_t bytes) {
    ssize_t done;
    THROUGH(done, write(file, from, bytes), from, bytes, READS);
}
static ssize_t our_read(int file, void *to, size_t bytes) {
    ssize_t done;
    THROUGH(done, read(file, to, bytes), to, bytes, WRITES);
}
static ssize_t our_pwrite(int file, const void *from, size_t bytes, off_t at) {
    ssize_t done;
    THROUGH(done, pwrite(file, from, bytes, at), from, bytes, READS);
}
static ssize_t our_pread(int file, void *to, size_t bytes, off_t at) {
    ssize_t done;
    THROUGH(done, pread(file, to, bytes, at), to, bytes, WRITES);
}
static ssize_t our_send(int file, const void *from, size_t bytes, int flags) {
    ssize_t done;
    THROUGH(done, send(file, from, bytes, flags), from, bytes, READS);
}
static ssize_t our_recv(int file, void *to, size_t bytes, int flags) {
    ssize_t done;
    THROUGH(done, recv(file, to, bytes, flags), to, bytes, WRITES);
}
static size_t our_fwrite(const void *from, size_t size, size_t items, FILE *file) {
    size_t done;
    THROUGH(done, fwrite(from, size, items, file), from, size * items, READS);
}
static size_t our_fread(void *to, size_t size, size_t items, FILE *file) {
    size_t done;
    THROUGH(done, fread(to, size, items, file), to, size * items, WRITES);
}
static ssize_t our_sendto(int file, const void *from, size_t bytes, int flags, const struct sockaddr *to, socklen_t size) {
    ssize_t done;
    THROUGH(done, sendto(file, from, bytes, flags, to, size), from, bytes, READS);
}
static ssize_t our_recvfrom(int file, void *to, size_t bytes, int flags, struct sockaddr *from, socklen_t *size) {
    ssize_t done;
    THROUGH(done, recvfrom(file, to, bytes, flags, from, size), to, bytes, WRITES);
}
static ssize_t our_writev(int file, const struct iovec *parts, int number) {
    ssize_t done;
    THROUGH_PARTS(done, writev(file, parts, number), parts, number, READS);
}
static ssize_t our_readv(int file, const struct iovec *parts, int number) {
    ssize_t done;
    THROUGH_PARTS(done, readv(file, parts, number), parts, number, WRITES);
}
static ssize_t our_pwritev(int file, const struct iovec *parts, int number, off_t at) {
    ssize_t done;
    THROUGH_PARTS(done, pwritev(file, parts, number, at), parts, number, READS);
}
static ssize_t our_preadv(int file, const struct iovec *parts, int number, off_t at) {
    ssize_t done;
    THROUGH_PARTS(done, preadv(file, parts, number, at), parts, number, WRITES);
}
static ssize_t our_sendmsg(int file, const struct msghdr *message, int flags) {
    ssize_t done;
    THROUGH_PARTS(done, sendmsg(file, message, flags), message->msg_iov, message->msg_iovlen, READS);
}
static ssize_t our_recvmsg(int file, struct msghdr *message, int flags) {
    ssize_t done;
    THROUGH_PARTS(done, recvmsg(file, message, flags), message->msg_iov, message->msg_iovlen, WRITES);
}

static const struct {
    const char *name;
    void *ours;
} calls[] = {
    {"write", our_write}, {"read", our_read}, {"pwrite", our_pwrite}, {"pread", our_pread}, {"pwrite64", our_pwrite},
    {"pread64", our_pread}, {"send", our_send}, {"recv", our_recv}, {"fwrite", our_fwrite}, {"fread", our_fread},
    {"fwrite_unlocked", our_fwrite}, {"fread_unlocked", our_fread}, {"writev", our_writev}, {"readv", our_readv},
    {"sendto", our_sendto}, {"recvfrom", our_recvfrom}, {"sendmsg", our_sendmsg}, {"recvmsg", our_recvmsg},
    {"pwritev", our_pwritev}, {"preadv", our_preadv}, {"pwritev64", our_pwritev}, {"preadv64", our_preadv},
};

static void *ours(const char *name) {
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        if (strcmp(calls[i].name, name) == 0)
            return calls[i].ours;
    return NULL;
}

static int is_entry(uint64_t type) {
#if defined(__x86_64__)
    return type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT;
#else
    return type == R_AARCH64_JUMP_SLOT || type == R_AARCH64_GLOB_DAT;
#endif
}

static void redirect(uint64_t base, const Elf64_Rela *entries, size_t bytes, const Elf64_Sym *symbols, const char *names) {
    const long page = sysconf(_SC_PAGESIZE);
    for (size_t i = 0; i < bytes / sizeof *entries; i++) {
        void *target = is_entry(ELF64_R_TYPE(entries[i].r_info))
                           ? ours(names + symbols[ELF64_R_SYM(entries[i].r_info)].st_name)
                           : NULL;
        if (target == NULL)
            continue;
        void **place = (void **)(base + entries[i].r_offset);
        if (mprotect((void *)((uint64_t)place / page * page), page, PROT_READ | PROT_WRITE) == 0)
            *place = target;
    }
}

/* Entries of a loaded program: its own and those of what is linked into it, such as the C++ library. */
void gs_lead_host_calls(void *program) {
    const struct link_map *map = NULL;
    if (dlinfo(program, RTLD_DI_LINKMAP, &map) != 0 || map == NULL)
        return;
    const Elf64_Sym *symbols = NULL;
    const char *names = NULL;
    const Elf64_Rela *jumps = NULL, *data = NULL;
    size_t jump_bytes = 0, data_bytes = 0;
    for (const Elf64_Dyn *each = map->l_ld; each->d_tag != DT_NULL; each++)
        switch (each->d_tag) {
        case DT_SYMTAB: symbols = (const Elf64_Sym *)each->d_un.d_ptr; break;
        case DT_STRTAB: names = (const char *)each->d_un.d_ptr; break;
        case DT_JMPREL: jumps = (const Elf64_Rela *)each->d_un.d_ptr; break;
        case DT_PLTRELSZ: jump_bytes = each->d_un.d_val; break;
        case DT_RELA: data = (const Elf64_Rela *)each->d_un.d_ptr; break;
        case DT_RELASZ: data_bytes = each->d_un.d_val; break;
        default: break;
        }
    if (symbols == NULL || names == NULL)
        return;
    redirect(map->l_addr, jumps, jumps == NULL ? 0 : jump_bytes, symbols, names);
    redirect(map->l_addr, data, data == NULL ? 0 : data_bytes, symbols, names);
}
