// syscall does what libc's does: results, errors, six arguments, a child that comes back on another stack.
#include "expect.h"
#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

int main(void) {
    errno = 42;
    expect(syscall(SYS_getpid) == getpid() && errno == 42);
    expect(syscall(SYS_close, -1) == -1 && errno == EBADF);
    expect(syscall(100000) == -1 && errno == ENOSYS);
    const int fd = open("/proc/self/exe", O_RDONLY);
    // Long: the last one travels on the stack, where an int leaves half of its word as it was.
    char *map = (char *)syscall(SYS_mmap, NULL, 8192, PROT_READ, MAP_PRIVATE, fd, 4096L);
    char bytes[16];
    expect(pread(fd, bytes, 16, 4096) == 16 && memcmp(map, bytes, 16) == 0);
    expect(syscall(SYS_munmap, map, 8192) == 0);
    const long child = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    if (child == 0) _exit(6);
    int status;
    expect(waitpid((pid_t)child, &status, 0) == child && WEXITSTATUS(status) == 6);
    expect(syscall(SYS_seccomp, 99, 0, NULL) == -1 && errno == EINVAL);
    char name[16] = "";
    expect(prctl(PR_SET_NAME, "a name", 0, 0, 0) == 0 && prctl(PR_GET_NAME, name) == 0 && strcmp(name, "a name") == 0);
    expect(prctl(-1, 0, 0, 0, 0) == -1 && errno == EINVAL);
}
