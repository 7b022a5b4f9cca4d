/* SPDX-FileCopyrightText: 2026 The gpukern authors
 * SPDX-License-Identifier: Apache-2.0 */

/* A kernel that prints from the GPU, compiled at run time and called from C. libgpukern is loaded
 * with dlopen, so building this program needs no CUDA. The argument is the library's path; without
 * it, dlopen searches (LD_LIBRARY_PATH). */
#include <dlfcn.h>
#include <gpukern/program.h>
#include <stdio.h>
#include <stdlib.h>

static const char SOURCE[] =
    "extern \"C\" __global__ void hello(int year) {\n"
    "  printf(\"  hello from thread %d of block %d in %d\\n\", threadIdx.x, blockIdx.x, year);\n"
    "}\n";

/* The functions that this program uses, and their names. */
static struct {
  const char *(*last_error)(void);
  int32_t (*device_count)(void);
  gpukern_status (*compile)(const gpukern_program_desc *, gpukern_program **);
  gpukern_status (*release)(gpukern_program *);
  gpukern_status (*kernel)(gpukern_program *, const char *, int32_t, gpukern_kernel **);
  gpukern_status (*kernel_release)(gpukern_kernel *);
  gpukern_status (*launch)(const gpukern_kernel *, const gpukern_launch *, const void *const *,
                           const size_t *, size_t, const gpukern_exec *);
  gpukern_status (*synchronize)(gpukern_device, const gpukern_exec *);
} api;

static const struct {
  const char *name;
  void *slot;
} SYMBOLS[] = {
    {"gpukern_last_error", &api.last_error},   {"gpukern_device_count", &api.device_count},
    {"gpukern_program_compile", &api.compile}, {"gpukern_program_release", &api.release},
    {"gpukern_program_kernel", &api.kernel},   {"gpukern_kernel_release", &api.kernel_release},
    {"gpukern_kernel_launch", &api.launch},    {"gpukern_synchronize", &api.synchronize}};

static void fail(const char *message) {
  fprintf(stderr, "%s\n", message);
  exit(EXIT_FAILURE);
}

static void check(gpukern_status status) {
  if (status != GPUKERN_SUCCESS) fail(api.last_error());
}

static void load(const char *path) {
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) fail(dlerror());
  for (size_t i = 0; i < sizeof SYMBOLS / sizeof SYMBOLS[0]; ++i) {
    void *symbol = dlsym(library, SYMBOLS[i].name);
    if (symbol == NULL) fail(dlerror());
    *(void **)SYMBOLS[i].slot = symbol; /* POSIX: a function's address fits a void pointer */
  }
}

int main(int argc, char **argv) {
  const gpukern_device gpu = {GPUKERN_CUDA, 0};
  gpukern_program_desc desc = GPUKERN_PROGRAM_DESC_INIT;
  gpukern_launch shape = GPUKERN_LAUNCH_INIT;
  gpukern_program *program = NULL;
  gpukern_kernel *hello = NULL;
  const int year = 2026;
  const void *const arguments[] = {&year};
  const size_t sizes[] = {sizeof year};

  load(argc > 1 ? argv[1] : "libgpukern.so");
  if (api.device_count() == 0) {
    printf("skipped: a kernel that runs needs a GPU\n");
    return EXIT_SUCCESS;
  }
  printf("GPU 0, from C, loaded with dlopen:\n");
  fflush(stdout);
  desc.source = SOURCE;
  check(api.compile(&desc, &program));
  check(api.kernel(program, "hello", 0, &hello));
  shape.grid[0] = 2;
  shape.block[0] = 4;
  check(api.launch(hello, &shape, arguments, sizes, 1, NULL));
  check(api.synchronize(gpu, NULL)); /* flushes the kernel's output */
  check(api.kernel_release(hello));
  check(api.release(program));
  return EXIT_SUCCESS;
}
