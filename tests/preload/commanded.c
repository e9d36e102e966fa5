/* A process that does what its standard input says, and answers with one line each: what several processes of one
 * hierarchy do is then in the order that a test wants.
 *
 *   take SIZE COUNT   mallocs up to COUNT blocks (0: until one is refused); answers how many it got
 *   drop COUNT        frees the last COUNT of them (0: all)
 *   map BYTES         maps and touches; answers 1, or 0 if it was refused
 *   unmap BYTES       the last so many bytes of what was mapped last, if all of it is there
 *   resize BYTES      what was mapped last, by mremap; 0 if it was refused
 *   cover BYTES       maps anew over the first so many bytes of it
 *   hide              makes it unreachable, and writable again
 *   exec              the program begins again
 *   fork              a child goes on with the same standard input and output, the parent waits for it
 *   orphan            a child goes on, the parent ends at once
 *   say WORD          answers WORD
 *   threads COUNT     that many threads each take and drop 1000 blocks of 256 bytes, and sleep from then on
 *   quit              ends with status 0
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { blocks_max = 4000000 };
static void **blocks;
static long nr_blocks;
static char *mapped; /* what was mapped last, and how much of it is left */
static size_t mapped_bytes;

static void answer(long value) {
    char line[32];
    const int length = snprintf(line, sizeof line, "%ld\n", value);
    if (write(1, line, (size_t)length) != length) _exit(3);
}

static int read_line(char *line, size_t size) {
    size_t length = 0;
    while (length + 1 < size) {
        const ssize_t got = read(0, line + length, 1);
        if (got <= 0) return 0;
        if (line[length] == '\n') break;
        ++length;
    }
    line[length] = '\0';
    return 1;
}

static long take(size_t size, long count) {
    long got = 0;
    while ((count == 0 || got < count) && nr_blocks < blocks_max) {
        char *p = malloc(size);
        if (p == NULL) break;
        memset(p, 1, size);
        blocks[nr_blocks++] = p;
        ++got;
    }
    return got;
}

static long drop(long count) {
    long dropped = 0;
    while (nr_blocks != 0 && (count == 0 || dropped < count)) {
        free(blocks[--nr_blocks]);
        ++dropped;
    }
    return dropped;
}

static pthread_barrier_t done;
static void *take_and_drop(void *unused) {
    void *of_thread[1000];
    for (int i = 0; i < 1000; ++i) of_thread[i] = malloc(256);
    for (int i = 0; i < 1000; ++i) free(of_thread[i]);
    pthread_barrier_wait(&done);
    for (;;) pause();
    return unused;
}

static void start_threads(unsigned count) {
    pthread_barrier_init(&done, NULL, count + 1);
    for (unsigned i = 0; i < count; ++i) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, take_and_drop, NULL) != 0) _exit(4);
    }
    pthread_barrier_wait(&done);
}

int main(void) {
    /* Not of the heap, and not charged: what a test counts is what it asked for. */
    blocks = mmap(NULL, blocks_max * sizeof *blocks, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (blocks == MAP_FAILED) return 5;
    char line[128], word[64];
    while (read_line(line, sizeof line)) {
        unsigned long a = 0, b = 0;
        if (sscanf(line, "take %lu %lu", &a, &b) == 2) {
            answer(take(a, (long)b));
        } else if (sscanf(line, "drop %lu", &a) == 1) {
            answer(drop((long)a));
        } else if (sscanf(line, "map %lu", &a) == 1) {
            void *p = mmap(NULL, a, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            if (p != MAP_FAILED) memset(p, 1, a), mapped = p, mapped_bytes = a;
            answer(p != MAP_FAILED);
        } else if (sscanf(line, "unmap %lu", &a) == 1) {
            answer(a <= mapped_bytes && munmap(mapped + (mapped_bytes -= a), a) == 0);
        } else if (sscanf(line, "resize %lu", &a) == 1) {
            char *p = mremap(mapped, mapped_bytes, a, MREMAP_MAYMOVE);
            if (p != MAP_FAILED) mapped = p, mapped_bytes = a;
            answer(p != MAP_FAILED);
        } else if (sscanf(line, "cover %lu", &a) == 1) {
            answer(mmap(mapped, a, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == mapped);
        } else if (strcmp(line, "hide") == 0) {
            answer(mprotect(mapped, mapped_bytes, PROT_NONE) == 0 &&
                   mprotect(mapped, mapped_bytes, PROT_READ | PROT_WRITE) == 0);
        } else if (strcmp(line, "exec") == 0) {
            execl("/proc/self/exe", "again", (char *)NULL);
            return 6;
        } else if (sscanf(line, "threads %lu", &a) == 1) {
            start_threads((unsigned)a);
            answer((long)a);
        } else if (strcmp(line, "fork") == 0 || strcmp(line, "orphan") == 0) {
            const int waits = line[0] == 'f';
            const pid_t child = fork();
            if (child > 0 && !waits) _exit(0);
            if (child > 0) {
                waitpid(child, NULL, 0);
                answer(0);
            } else {
                answer(getpid());
            }
        } else if (sscanf(line, "say %63s", word) == 1) {
            printf("%s\n", word);
            fflush(stdout);
        } else if (strcmp(line, "quit") == 0) {
            return 0;
        }
    }
    return 0;
}
