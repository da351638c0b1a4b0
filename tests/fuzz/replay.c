// SPDX-License-Identifier: Apache-2.0
// Replays a corpus through a fuzz target without libFuzzer: every file of the folders that are given, each in its own
// allocation so that a sanitizer sees a read past its end. Linked with one target; passes when nothing crashes.
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int replay_file(const char *path)
{
    struct stat st;
    FILE *f = fopen(path, "rb");
    if (!f || fstat(fileno(f), &st) != 0) {
        perror(path);
        if (f) fclose(f);
        return -1;
    }
    int found = 0;
    if (S_ISREG(st.st_mode)) {
        uint8_t *bytes = malloc(st.st_size ? (size_t)st.st_size : 1);
        const size_t size = bytes ? fread(bytes, 1, (size_t)st.st_size, f) : 0;
        printf("%s: %zu bytes\n", path, size);
        fflush(stdout);
        LLVMFuzzerTestOneInput(bytes, size);
        free(bytes);
        found = 1;
    }
    fclose(f);
    return found;
}

static int replay_folder(const char *folder)
{
    int count = 0;
    DIR *dir = opendir(folder);
    if (!dir) {
        perror(folder);
        return -1;
    }
    for (struct dirent *e; (e = readdir(dir)) != NULL;) {
        char path[4096];
        if (e->d_name[0] == '.') continue;
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        const int n = replay_file(path);
        if (n < 0) {
            count = -1;
            break;
        }
        count += n;
    }
    closedir(dir);
    return count;
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        const int n = replay_folder(argv[i]);
        if (n <= 0) {
            fprintf(stderr, "%s: no inputs were replayed\n", argv[i]);
            return 1;
        }
        printf("%d inputs of %s replayed\n", n, argv[i]);
    }
    return argc < 2;
}
