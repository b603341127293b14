/* The entry of an executable that uses the virtual GPU: it becomes Python, which loads the same file as a library.

   The kernel starts here, with no dynamic loader: nothing is relocated and no constructor has run, so there are system
   calls alone, and addresses relative to the instruction. GS_PYTHON is the interpreter. */

#define PUBLIC __attribute__((visibility("default")))
#define NOT_FOUND 127
#define MOST_PATH 4096

extern int main(int, char **, char **);

/* Under -fvisibility=hidden nobody outside finds main itself. */
PUBLIC int gs_program_main(int count, char **arguments, char **variables) { return main(count, arguments, variables); }

#if defined(__x86_64__)
enum { WRITE = 1, EXECVE = 59, EXIT = 231, READLINKAT = 267 };
static inline long call(long number, long a, long b, long c, long d) {
    register long fourth __asm__("r10") = d;
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(fourth)
                     : "rcx", "r11", "memory");
    return result;
}
__asm__(".text\n.globl gs_start\n.hidden gs_start\ngs_start:\n mov %rsp, %rdi\n and $-16, %rsp\n call gs_enter\n");
#else
enum { WRITE = 64, EXECVE = 221, EXIT = 94, READLINKAT = 78 };
static inline long call(long number, long a, long b, long c, long d) {
    register long x8 __asm__("x8") = number, x0 __asm__("x0") = a, x1 __asm__("x1") = b, x2 __asm__("x2") = c,
                      x3 __asm__("x3") = d;
    __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3) : "memory");
    return x0;
}
__asm__(".text\n.globl gs_start\n.hidden gs_start\ngs_start:\n mov x0, sp\n bl gs_enter\n");
#endif

/* The stack as the kernel leaves it: a count, so many arguments, 0, the environment, 0. */
__attribute__((used, visibility("hidden"))) void gs_enter(long *stack) {
    static const char python[] = GS_PYTHON, unsafe[] = "-P", module[] = "-m",
                      name[] = "gridstride.programs.environment.launch", self[] = "/proc/self/exe",
                      lost[] = "error: " GS_PYTHON " is not there, which this program was built for: build it again\n";
    const long count = stack[0], here = -100 /* AT_FDCWD */;
    char **arguments = (char **)(stack + 1), **variables = arguments + count + 1, path[MOST_PATH];
    const long length = call(READLINKAT, here, (long)self, (long)path, MOST_PATH - 1);
    path[length < 0 ? 0 : length] = 0;
    const char *words[count + 6];
    words[0] = python, words[1] = unsafe, words[2] = module, words[3] = name, words[4] = path;
    for (long i = 0; i <= count; i++)
        words[5 + i] = arguments[i];
    call(EXECVE, (long)python, (long)words, (long)variables, 0);
    call(WRITE, 2, (long)lost, sizeof lost - 1, 0);
    call(EXIT, NOT_FOUND, 0, 0, 0);
}
