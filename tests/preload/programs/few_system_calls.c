// A filter lets only a handful of system calls through; the others fail, and membarrier kills. Blocks come and go all
// the same, errno included.
#include "expect.h"
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#define allow(name) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##name, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
int main(void) {
    void *before = malloc(3 << 20);
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        allow(read),
        allow(write),
        allow(mmap),
        allow(munmap),
        allow(mprotect),
        allow(brk),
        allow(futex),
        allow(exit),
        allow(exit_group),
        allow(rt_sigreturn),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_membarrier, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
    };
    struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    expect(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    expect(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0);
    errno = 42;
    free(before);
    for (int round = 0; round < 20; ++round)
        for (size_t size = 1; size < 64u << 20; size = size * 2 + 1) {
            char *p = malloc(size);
            expect(p && errno == 42);
            p[size - 1] = 1;
            free(p);
            expect(errno == 42);
            p = calloc(1, size);
            expect(p && p[size - 1] == 0);
            free(p);
        }
}
