// A handler forks at each instruction of slow paths of malloc, free and realloc; the child allocates in the handler or not, and
// goes on with what was interrupted.
#include "expect.h"
#include <signal.h>
#include <sys/wait.h>
#include <ucontext.h>

#if defined(__x86_64__)

enum { trap_flag = 0x100 };
static int child_allocates; // in the handler, more than the reserve has: every other one
static volatile sig_atomic_t in_child;
static unsigned char seen[1 << 20]; // by address, without its upper bits: once is enough in a loop

static void use_some_sizes(void) {
    static const size_t sizes[] = {1, 2000, 40, 2000, 20000, 300000, 40, 700000};
    enum { count = sizeof sizes / sizeof *sizes };
    void *blocks[count];
    for (int i = 0; i < count; ++i) {
        blocks[i] = malloc(sizes[i]);
        expect(blocks[i] != NULL);
        *(char *)blocks[i] = 1;
    }
    for (int i = 0; i < count; ++i) free(blocks[i]);
}
static void handle(int number, siginfo_t *information, void *interrupted) {
    (void)number, (void)information;
    greg_t *registers = ((ucontext_t *)interrupted)->uc_mcontext.gregs;
    if (in_child || seen[registers[REG_RIP] % sizeof seen]++ != 0) return;
    child_allocates ^= 1;
    const pid_t child = _Fork();
    if (child == 0) {
        in_child = 1;
        alarm(20);
        registers[REG_EFL] &= ~trap_flag;
        if (child_allocates) use_some_sizes();
        return;
    }
    int status;
    while (waitpid(child, &status, 0) < 0) expect(errno == EINTR);
    expect(status == 0);
}
static void set_traps(void) { __asm__ volatile("pushfq; orq $0x100, (%%rsp); popfq" ::: "memory", "cc"); }
static void clear_traps(void) {
    if (in_child) return;
    __asm__ volatile("pushfq; andq $~0x100, (%%rsp); popfq" ::: "memory", "cc");
}
// At the end of what was interrupted.
static void leave_if_child(void) {
    if (!in_child) return;
    use_some_sizes();
    _exit(0);
}
static void *stepped_malloc(size_t size) {
    set_traps();
    void *block = malloc(size);
    clear_traps();
    expect(block != NULL);
    *(char *)block = 2;
    leave_if_child();
    return block;
}
static void stepped_free(void *block) {
    set_traps();
    free(block);
    clear_traps();
    leave_if_child();
}
int main(void) {
    free(malloc(100)); // a home is made with signals blocked
    struct sigaction action = {.sa_sigaction = handle, .sa_flags = SA_SIGINFO};
    sigaction(SIGTRAP, &action, NULL);
    void *small = stepped_malloc(2000), *medium = stepped_malloc(20000), *large = stepped_malloc(300000);
    stepped_free(medium);
    stepped_free(large);
    set_traps();
    small = realloc(small, 600000);
    clear_traps();
    leave_if_child();
    stepped_free(small);
    use_some_sizes();
}

#else
int main(void) {} // stepping needs the processor's trap flag
#endif
