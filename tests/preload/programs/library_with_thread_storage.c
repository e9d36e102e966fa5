// Fifty bytes of thread storage that must lie in what the loader keeps for libraries opened late.
static __thread char storage[50] __attribute__((tls_model("initial-exec")));
char *library_storage(void) { return storage; }
