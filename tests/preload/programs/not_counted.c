// 16 MiB: shared and file mappings, thread stacks and reservations do not count.
#include "expect.h"
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>

static void *nothing(void *unused) { return unused; }
int main(void) {
    const size_t big = 64 << 20;
    expect(mmap(NULL, big, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0) != MAP_FAILED);
    const int fd = open("/proc/self/exe", O_RDONLY);
    expect(mmap(NULL, big, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0) != MAP_FAILED);
    expect(mmap(NULL, big, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED);
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, big);
    pthread_t thread;
    expect(pthread_create(&thread, &attributes, nothing, NULL) == 0 && pthread_join(thread, NULL) == 0);
    expect(malloc(15 << 20) != NULL);
}
