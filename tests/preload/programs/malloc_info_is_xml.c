// malloc_info refuses options with EINVAL and writes one element, all of its tags closed.
#include "expect.h"
#include <malloc.h>

int main(void) {
    expect(malloc_info(1, stdout) == EINVAL && malloc_info(-1, NULL) == EINVAL);
    char *text;
    size_t size;
    FILE *file = open_memstream(&text, &size);
    expect(malloc_info(0, file) == 0 && fclose(file) == 0);
    expect(strncmp(text, "<malloc version=\"1\">\n", 21) == 0);
    expect(strcmp(text + size - 10, "</malloc>\n") == 0);
    int open_tags = 0;
    for (const char *at = text; (at = strchr(at, '<')) != NULL; ++at) {
        const char *end = strchr(at, '>');
        expect(end);
        open_tags += at[1] == '/' ? -1 : end[-1] != '/';
    }
    expect(open_tags == 0);
    free(text);
}
