#include "expect.h"

#include <fcntl.h>
#include <unistd.h>

/* A descriptor for an event loop blocks nobody and is closed on exec. When its tenant ends it stays, with what it was
 * told, and is the caller's to close, as any other. */
int main(void) {
    allot_tenant *tenant = tenant_below(NULL, "tenant", "64K");
    int fd = allot_event_fd(tenant, ALLOT_EVENT_BIT(allot_event_oom));
    expect(fd >= 0);
    expect((fcntl(fd, F_GETFL) & O_NONBLOCK) != 0 && (fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0);
    expect(allot_malloc_in(tenant, 100000) == NULL);
    expect(allot_tenant_destroy(tenant) == 0);
    uint64_t told = 0;
    expect(allot_event_fd_close(fd) == -EBADF);
    expect(read(fd, &told, sizeof told) == sizeof told && told == 1);
    expect(close(fd) == 0);
    for (int i = 0; i < 2000; ++i) { /* and none of the library's own is left */
        allot_tenant *brief = tenant_below(NULL, "brief", NULL);
        int each = allot_event_fd(brief, ALLOT_EVENT_BIT(allot_event_oom));
        expect(each >= 0);
        expect(allot_tenant_destroy(brief) == 0 && close(each) == 0);
    }
    return everything_adds_up();
}
