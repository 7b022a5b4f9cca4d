/* SPDX-FileCopyrightText: 2026 The gpukern authors
 * SPDX-License-Identifier: Apache-2.0 */

/* gather and saxpy from C, loading libgpukern at run time: nothing is linked, only the header is
 * needed to compile. Takes the library's path, or finds it as dlopen does (LD_LIBRARY_PATH). */
#include <dlfcn.h>
#include <gpukern/gpukern.h>
#include <stdio.h>
#include <stdlib.h>

enum { LENGTH = 4 };

/* The functions that this program uses, and their names. */
static struct {
  int32_t (*abi_version)(void);
  const char *(*last_error)(void);
  int32_t (*device_count)(void);
  gpukern_status (*gather)(const gpukern_tensor *, const gpukern_tensor *, int32_t,
                           const gpukern_tensor *, const gpukern_gather_options *,
                           const gpukern_exec *);
  gpukern_status (*saxpy)(const void *, const gpukern_tensor *, const gpukern_tensor *,
                          const gpukern_tensor *, const gpukern_exec *);
} api;

static const struct {
  const char *name;
  void *slot;
} SYMBOLS[] = {{"gpukern_abi_version", &api.abi_version},
               {"gpukern_last_error", &api.last_error},
               {"gpukern_device_count", &api.device_count},
               {"gpukern_gather", &api.gather},
               {"gpukern_saxpy", &api.saxpy}};

static void fail(const char *message) {
  fprintf(stderr, "%s\n", message);
  exit(EXIT_FAILURE);
}

static void load(const char *path) {
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) fail(dlerror());
  for (size_t i = 0; i < sizeof SYMBOLS / sizeof SYMBOLS[0]; ++i) {
    void *symbol = dlsym(library, SYMBOLS[i].name);
    if (symbol == NULL) fail(dlerror());
    *(void **)SYMBOLS[i].slot = symbol; /* POSIX: a function's address fits a void pointer */
  }
  if (api.abi_version() != GPUKERN_ABI_VERSION) fail("the library has another ABI version");
}

static void expect(const float *values, const float *expected, const char *what) {
  for (int i = 0; i < LENGTH; ++i) {
    if (values[i] != expected[i]) fail(what);
  }
  printf("  %s: right\n", what);
}

/* Host arrays, computed on the device, without an allocation there. */
static void run_on(int32_t device_type) {
  float numbers[5] = {0.0F, 10.0F, 20.0F, 30.0F, 40.0F};
  int64_t numbers_shape[1] = {5};
  int32_t indices[LENGTH] = {4, 0, -1, 2};
  float values[LENGTH] = {0};
  int64_t shape[1] = {LENGTH};
  const gpukern_device cpu = {GPUKERN_CPU, 0};
  const gpukern_dtype float32 = {GPUKERN_FLOAT, 32, 1};
  const gpukern_dtype int32 = {GPUKERN_INT, 32, 1};
  const gpukern_tensor source = {numbers, cpu, 1, float32, numbers_shape, NULL, 0};
  const gpukern_tensor index = {indices, cpu, 1, int32, shape, NULL, 0};
  const gpukern_tensor out = {values, cpu, 1, float32, shape, NULL, 0};
  gpukern_exec exec = GPUKERN_EXEC_INIT;
  exec.device.device_type = device_type;

  const float gathered[LENGTH] = {40.0F, 0.0F, 40.0F, 20.0F};
  if (api.gather(&source, &index, 0, &out, NULL, &exec)) fail(api.last_error());
  expect(values, gathered, "gather");

  indices[1] = 5;
  if (api.gather(&source, &index, 0, &out, NULL, &exec) != GPUKERN_INDEX_ERROR) {
    fail("gather: index 5 was not refused");
  }
  printf("  gather refused: %s\n", api.last_error());

  const float a = 0.5F;
  const float scaled[LENGTH] = {60.0F, 0.0F, 60.0F, 30.0F};
  if (api.saxpy(&a, &out, &out, &out, &exec)) fail(api.last_error());
  expect(values, scaled, "saxpy");
}

int main(int argc, char **argv) {
  load(argc > 1 ? argv[1] : "libgpukern.so");
  printf("gpukern from C, loaded with dlopen\nCPU:\n");
  run_on(GPUKERN_CPU);

  const int32_t count = api.device_count();
  printf(count > 0 ? "GPU 0, host arrays:\n" : "no GPU\n");
  if (count > 0) run_on(GPUKERN_CUDA);
  return EXIT_SUCCESS;
}
