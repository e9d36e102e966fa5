// /noisy may use 4 MiB, and threads named noisy-* are in it: by a name they inherit, by pthread_setname_np, by prctl.
// Others are never refused.
#include "expect.h"
#include <pthread.h>
#include <sys/prctl.h>

static int refused(void) {
    void *p = malloc(opaque_size(6 << 20));
    free(p);
    return p == NULL;
}
static void *ask(void *unused) {
    (void)unused;
    return (void *)(uintptr_t)(refused() ? 1 : 2);
}
static uintptr_t new_thread(void) {
    pthread_t thread;
    void *answer;
    expect(pthread_create(&thread, NULL, ask, NULL) == 0 && pthread_join(thread, &answer) == 0);
    return (uintptr_t)answer;
}
int main(void) {
    expect(!refused() && new_thread() == 2);
    void *kept = malloc(3 << 20);
    expect(pthread_setname_np(pthread_self(), "noisy-1") == 0);
    expect(refused() && new_thread() == 1);
    expect(prctl(PR_SET_NAME, "quiet", 0, 0, 0) == 0);
    expect(!refused() && new_thread() == 2);
    expect(prctl(PR_SET_NAME, "noisy-2", 0, 0, 0) == 0);
    expect(refused());
    free(kept); // another tenant's
    expect(refused());
    expect(malloc(3 << 20) != NULL && malloc(opaque_size(3 << 20)) == NULL);
}
