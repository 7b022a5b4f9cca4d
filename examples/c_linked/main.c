/* SPDX-FileCopyrightText: 2026 The gpukern authors
 * SPDX-License-Identifier: Apache-2.0 */

/* gather and saxpy from C, linked against libgpukern, on the CPU and on each GPU. */
#include <gpukern/gpukern.h>
#include <stdio.h>
#include <stdlib.h>

enum { SOURCE_LENGTH = 1000, LENGTH = 4 };

static const gpukern_dtype FLOAT32 = {GPUKERN_FLOAT, 32, 1};
static const gpukern_dtype INT32 = {GPUKERN_INT, 32, 1};
static const gpukern_device CPU = {GPUKERN_CPU, 0};

/* Ends the program with the library's message if a call failed. */
static void check(gpukern_status status) {
  if (status == GPUKERN_SUCCESS) return;
  fprintf(stderr, "%s: %s\n", gpukern_status_name(status), gpukern_last_error());
  exit(EXIT_FAILURE);
}

/* Describes a contiguous vector of `*length` elements. */
static gpukern_tensor vector(void *data, gpukern_device device, gpukern_dtype dtype,
                             int64_t *length) {
  gpukern_tensor tensor = {data, device, 1, dtype, length, NULL, 0};
  return tensor;
}

/* Copies 4-byte elements to memory of the device. */
static gpukern_tensor to_device(void *host, gpukern_device device, gpukern_dtype dtype,
                                int64_t *length) {
  gpukern_tensor from = vector(host, CPU, dtype, length);
  gpukern_tensor to = vector(NULL, device, dtype, length);
  check(gpukern_allocate(device, (size_t)*length * 4, NULL, &to.data));
  check(gpukern_copy(&from, &to, NULL));
  return to;
}

static void expect(gpukern_tensor tensor, const float *expected, const char *what) {
  float values[LENGTH];
  gpukern_tensor host = vector(values, CPU, FLOAT32, tensor.shape);
  check(gpukern_copy(&tensor, &host, NULL));
  for (int i = 0; i < LENGTH; ++i) {
    if (values[i] != expected[i]) {
      fprintf(stderr, "%s: element %d is %g, not %g\n", what, i, values[i], expected[i]);
      exit(EXIT_FAILURE);
    }
  }
  printf("  %s: right\n", what);
}

static void run_on(gpukern_device device) {
  float numbers[SOURCE_LENGTH];
  for (int i = 0; i < SOURCE_LENGTH; ++i) numbers[i] = 0.5F * (float)i;
  int32_t good[LENGTH] = {0, 999, -1, 7};
  int32_t bad[LENGTH] = {0, 1000, -1, 7};
  float zeros[LENGTH] = {0};
  const float gathered[LENGTH] = {0.0F, 499.5F, 499.5F, 3.5F};
  const float scaled[LENGTH] = {0.0F, 1498.5F, 1498.5F, 10.5F};

  int64_t source_length = SOURCE_LENGTH;
  int64_t length = LENGTH;
  gpukern_tensor source = to_device(numbers, device, FLOAT32, &source_length);
  gpukern_tensor index = to_device(good, device, INT32, &length);
  gpukern_tensor bad_index = to_device(bad, device, INT32, &length);
  gpukern_tensor out = to_device(zeros, device, FLOAT32, &length);

  check(gpukern_gather(&source, &index, 0, &out, NULL, NULL));
  expect(out, gathered, "gather");

  if (gpukern_gather(&source, &bad_index, 0, &out, NULL, NULL) != GPUKERN_INDEX_ERROR) {
    fprintf(stderr, "gather: index 1000 was not refused\n");
    exit(EXIT_FAILURE);
  }
  printf("  gather refused: %s\n", gpukern_last_error());
  expect(out, gathered, "gather after that"); /* out is unchanged */

  const float a = 2.0F;
  check(gpukern_saxpy(&a, &out, &out, &out, NULL)); /* in place: 2 * out + out */
  expect(out, scaled, "saxpy");

  check(gpukern_release(device, source.data, NULL));
  check(gpukern_release(device, index.data, NULL));
  check(gpukern_release(device, bad_index.data, NULL));
  check(gpukern_release(device, out.data, NULL));
}

int main(void) {
  gpukern_cuda_info cuda = {0};
  cuda.struct_size = sizeof cuda;
  check(gpukern_cuda_query(&cuda));

  printf("gpukern %d from C, linked\n", (int)gpukern_version());
  printf("CPU:\n");
  run_on(CPU);
  if (cuda.device_count == 0) printf("no GPU: %s\n", cuda.reason);
  for (int32_t id = 0; id < cuda.device_count; ++id) {
    gpukern_device_info info = {0};
    info.struct_size = sizeof info;
    check(gpukern_device_query(id, &info));
    printf("GPU %d, %s:\n", (int)id, info.name);
    run_on((gpukern_device){GPUKERN_CUDA, id});
  }
  return EXIT_SUCCESS;
}
