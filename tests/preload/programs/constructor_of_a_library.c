// A linked library allocates in its constructor, which runs before the program's; the program frees it.
#include "expect.h"
extern char *library_text;
extern int library_constructed;

int main(void) {
    expect(library_constructed == 1);
    expect(strcmp(library_text, "made before main") == 0);
    free(library_text);
}
