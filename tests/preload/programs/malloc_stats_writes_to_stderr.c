// malloc_stats writes to the stream stderr, wherever that goes, in libc's words.
#include "expect.h"
#include <malloc.h>

int main(void) {
    char *text;
    size_t size;
    FILE *const console = stderr;
    stderr = open_memstream(&text, &size);
    malloc_stats();
    fclose(stderr);
    stderr = console;
    expect(strncmp(text, "Arena 0:\nsystem bytes     = ", 27) == 0);
    expect(strstr(text, "\nin use bytes     = ") && strstr(text, "\nTotal (incl. mmap):\nsystem bytes     = "));
    expect(strstr(text, "\nmax mmap bytes   = "));
    free(text);
}
