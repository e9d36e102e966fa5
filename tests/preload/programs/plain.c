// Nothing at all: no output, exit 0.
int main(void) { return 0; }
