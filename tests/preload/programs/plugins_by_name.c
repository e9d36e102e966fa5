// Two plugins, /a and /b by their file names; /a may use 4 MiB. A thread named worker is /w, but what it asks a plugin for is
// the plugin's.
#include "expect.h"
#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

typedef void *(*by_size)(size_t);

static void *(*tenant_open)(const char *);
static uint64_t (*tenant_current)(void *);
static uint64_t current(const char *path) {
    void *tenant = tenant_open(path);
    expect(tenant != NULL);
    return tenant_current(tenant);
}
static by_size entry(void *library, const char *name) {
    by_size function = (by_size)dlsym(library, name);
    expect(function != NULL);
    return function;
}
static void *open_plugin(const char *file) {
    void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (!library) puts(dlerror());
    expect(library != NULL);
    return library;
}

static void each_name_is_charged(void *a) {
    const char *names[] = {"plugin_malloc", "plugin_calloc", "plugin_aligned", "plugin_posix", "plugin_new"};
    const uint64_t before = current("/a"), others = current("/b");
    for (size_t i = 0; i < sizeof names / sizeof *names; ++i)
        for (size_t size = 128; size <= 1 << 20; size *= 4) {
            void *p = entry(a, names[i])(size);
            expect(p != NULL && current("/a") == before + malloc_usable_size(p));
            free(p);
            expect(current("/a") == before);
        }
    char *text = entry(a, "plugin_malloc")(100);
    text = ((void *(*)(void *, size_t))dlsym(a, "plugin_realloc"))(text, 300000);
    expect(text != NULL && current("/a") == before + malloc_usable_size(text));
    free(text);
    void *map = entry(a, "plugin_map")(1 << 20);
    expect(map != MAP_FAILED && current("/a") == before + (1 << 20));
    expect(munmap(map, 1 << 20) == 0 && current("/a") == before);
    // What libc allocates for it is libc's, and so the host's.
    text = ((void *(*)(const char *))dlsym(a, "plugin_strdup"))("a text of some length");
    expect(text != NULL && current("/a") == before);
    free(text);
    expect(current("/b") == others);
}

static void the_host_goes_on(void *a, void *b) {
    by_size from_a = entry(a, "plugin_malloc"), from_b = entry(b, "plugin_malloc");
    void *held[100];
    int count = 0;
    while (count < 100 && (held[count] = from_a(64 << 10)) != NULL) ++count;
    expect(count > 50 && count < 64 && errno == ENOMEM);
    expect(entry(a, "plugin_map")(1 << 20) == MAP_FAILED && entry(a, "plugin_calloc")(1 << 20) == NULL);
    void *of_b = from_b(opaque_size(8 << 20)), *own = malloc(opaque_size(8 << 20));
    expect(of_b != NULL && own != NULL && current("/b") >= 8 << 20);
    free(held[--count]);
    expect((held[count] = from_a(32 << 10)) != NULL);
    for (int i = 0; i <= count; ++i) free(held[i]);
    free(of_b);
    free(own);
}

static void *work(void *a) {
    expect(prctl(PR_SET_NAME, "worker", 0, 0, 0) == 0);
    const uint64_t of_thread = current("/w");
    void *own = malloc(opaque_size(20000));
    expect(current("/w") == of_thread + malloc_usable_size(own));
    by_size from_a = entry(a, "plugin_malloc");
    for (int i = 0; i < 20000; ++i) {
        void *p = from_a(opaque_size(40 + i % 500));
        expect(p != NULL);
        free(p);
    }
    void *p = from_a(opaque_size(20000));
    expect(current("/w") == of_thread + malloc_usable_size(own));
    free(p);
    return own; // which the main thread frees
}
static void threads_use_it_too(void *a) {
    pthread_t threads[4];
    void *own;
    // One after the other: each compares what is the plugin's with what is its own.
    for (int i = 0; i < 4; ++i) {
        expect(pthread_create(&threads[i], NULL, work, a) == 0 && pthread_join(threads[i], &own) == 0);
        free(own);
    }
    expect(current("/w") == 0);
}

static void children_have_the_same_rules(void *a) {
    void *inherited = entry(a, "plugin_malloc")(3 << 20);
    const pid_t child = fork();
    if (child == 0) {
        void *p = entry(a, "plugin_malloc")(3 << 20); // what it has inherited, its parent pays for
        expect(p != NULL && current("/a") == malloc_usable_size(p));
        expect(entry(a, "plugin_malloc")(3 << 20) == NULL && malloc(opaque_size(3 << 20)) != NULL);
        free(inherited);
        expect(current("/a") == malloc_usable_size(p));
        _exit(0);
    }
    int status;
    expect(child > 0 && waitpid(child, &status, 0) == child && status == 0);
    free(inherited);
}

// The loader puts what it opens next where the last one was.
static void another_one_at_the_same_address(const char *file_a, const char *file_b) {
    int same = 0;
    void *last = NULL;
    for (int i = 0; i < 40; ++i) {
        void *library = open_plugin(i % 2 ? file_b : file_a);
        by_size from_it = entry(library, "plugin_malloc");
        same += (void *)from_it == last;
        last = (void *)from_it;
        for (int j = 0; j < 3; ++j) {
            void *p = from_it(10000);
            // And what its constructor holds.
            expect(current(i % 2 ? "/b" : "/a") == malloc_usable_size(p) + 5120 && current(i % 2 ? "/a" : "/b") == 0);
            free(p);
        }
        expect(dlclose(library) == 0 && current("/a") == 0 && current("/b") == 0);
    }
    expect(same > 30);
}

int main(int argc, char **argv) {
    expect(argc == 3);
    tenant_open = (void *(*)(const char *))dlsym(RTLD_DEFAULT, "allot_tenant_open");
    tenant_current = (uint64_t(*)(void *))dlsym(RTLD_DEFAULT, "allot_tenant_current");
    expect(tenant_open && tenant_current && current("/a") == 0 && current("/b") == 0); // there from the start
    another_one_at_the_same_address(argv[1], argv[2]);
    void *a = open_plugin(argv[1]), *b = open_plugin(argv[2]);
    each_name_is_charged(a);
    the_host_goes_on(a, b);
    threads_use_it_too(a);
    children_have_the_same_rules(a);
    expect(dlclose(a) == 0 && dlclose(b) == 0 && current("/a") == 0 && current("/b") == 0);
}
