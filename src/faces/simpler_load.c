// SPDX-License-Identifier: Apache-2.0
// Shared objects that come as bytes: orchestrations and kernels. Set-up path.

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"
#include "base/order.h"
#include "comm/checking.h"
#include "faces/simpler.h"

// A path of a descriptor that no other has had in this process: dlopen takes a path that it knows
// for the object that it has, and numbers of descriptors come again. Each bit of a count is "/" or
// "/.".
static void name_object(int fd, char *path, size_t size)
{
    static _Atomic uint32_t loads;
    uint32_t load = tern__flag_add(&loads, 1);
    int length = snprintf(path, size, "/proc/self/fd");
    for (; load > 0; load >>= 1) {
        length += snprintf(path + length, size - (size_t)length, "%s", load & 1 ? "/." : "/");
    }
    snprintf(path + length, size - (size_t)length, "/%d", fd);
}

static int write_all(int fd, const char *bytes, size_t size)
{
    while (size > 0) {
        ssize_t written = write(fd, bytes, size);
        if (written < 0) {
            return -1;
        }
        bytes += written;
        size -= (size_t)written;
    }
    return 0;
}

int tern__simpler_load(const char *what, const void *bytes, size_t size, int *file, void **library)
{
    char path[128];
    if (bytes == NULL || size == 0) {
        return tern__fail(TERN_ERR_ARG, "%s: no shared object is given", what);
    }
    int fd = memfd_create(what, MFD_CLOEXEC);
    if (fd < 0 || write_all(fd, bytes, size) != 0) {
        tern__set_error_errno("%s: no memory for a shared object of %zu bytes", what, size);
        if (fd >= 0) {
            close(fd);
        }
        return TERN_ERR_SYSTEM;
    }
    name_object(fd, path, sizeof path);
    *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    // Checking mode finds lines in it.
    bool stays = file != NULL && fd > 0 && *library != NULL && tern__checking_asked();
    if (!stays) {
        close(fd);
    }
    if (file != NULL) {
        *file = stays ? fd : 0;
    }
    return *library != NULL ? TERN_OK
                            : tern__fail(TERN_ERR_KERNEL,
                                         "%s: not a shared object that can be "
                                         "loaded: %s",
                                         what, dlerror());
}

static void close_object(void *library, int file)
{
    dlclose(library);
    if (file > 0) {
        close(file);
    }
}

int tern__simpler_load_kernel(struct simpler_kernel *kernels, int id, const void *bytes,
                              size_t size)
{
    char what[32];
    void *library = NULL;
    int file = 0;
    if (id < 0 || id >= TERN_SIMPLER_FUNC_IDS) {
        return tern__fail(TERN_ERR_ARG, "a kernel's id is %d; it must be 0 to %d", id,
                          TERN_SIMPLER_FUNC_IDS - 1);
    }
    snprintf(what, sizeof what, "kernel %d", id);
    TERN_TRY(tern__simpler_load(what, bytes, size, &file, &library));
    // The first hands what the kernel throws to tern (simpler/tern/kernel.hpp).
    void *function = dlsym(library, "tern_simpler_kernel");
    if (function == NULL || dlsym(library, "kernel_entry") == NULL) {
        function = dlsym(library, "kernel_entry");
    }
    if (function == NULL) {
        close_object(library, file);
        return tern__fail(TERN_ERR_KERNEL, "%s: the shared object has no kernel_entry", what);
    }
    tern__simpler_unload_kernel(kernels, id);
    memcpy(&kernels[id].function, &function, sizeof function); // POSIX: the same representation
    kernels[id].library = library;
    kernels[id].file = file;
    snprintf(kernels[id].name, sizeof kernels[id].name, "kernel %d", id);
    return TERN_OK;
}

void tern__simpler_unload_kernel(struct simpler_kernel *kernels, int id)
{
    if (id >= 0 && id < TERN_SIMPLER_FUNC_IDS && kernels[id].library != NULL) {
        close_object(kernels[id].library, kernels[id].file);
        kernels[id] = (struct simpler_kernel){0};
    }
}
