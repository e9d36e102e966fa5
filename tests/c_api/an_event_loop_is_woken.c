#include "expect.h"

#include <poll.h>
#include <pthread.h>
#include <unistd.h>

static void *refused(void *tenant) {
    for (int i = 0; i < 3; ++i) expect(allot_malloc_in(tenant, 100000) == NULL);
    return NULL;
}

/* Another thread's refusals make a descriptor readable, which says how many there were. */
int main(void) {
    allot_tenant *tenant = tenant_below(NULL, "tenant", "64K");
    int fd = allot_event_fd(tenant, ALLOT_EVENT_BIT(allot_event_oom));
    expect(fd >= 0);
    struct pollfd wanted = {.fd = fd, .events = POLLIN};
    expect(poll(&wanted, 1, 0) == 0);
    pthread_t thread;
    expect(pthread_create(&thread, NULL, refused, tenant) == 0);
    expect(poll(&wanted, 1, 20000) == 1);
    expect(pthread_join(thread, NULL) == 0);
    uint64_t sum = 0;
    expect(read(fd, &sum, sizeof sum) == sizeof sum && sum >= 1);
    if (sum < 3) {
        uint64_t more = 0;
        expect(read(fd, &more, sizeof more) == sizeof more);
        sum += more;
    }
    expect(sum == 3);
    expect(read(fd, &sum, sizeof sum) == -1 && errno == EAGAIN);
    expect(allot_event_fd_close(fd) == 0);
    expect(allot_event_fd_close(fd) == -EBADF);
    return everything_adds_up();
}
