// A plugin that frees what its host allocated, and the other way round.
#include <stdlib.h>
#include <string.h>

char *plugin_make(void) { return strdup("made by the plugin"); }
void plugin_free(void *p) { free(p); }
