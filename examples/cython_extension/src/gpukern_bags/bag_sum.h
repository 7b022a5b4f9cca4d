/* SPDX-FileCopyrightText: 2026 The gpukern authors
 * SPDX-License-Identifier: Apache-2.0 */
// clang-format Language: C
#ifndef GPUKERN_BAGS_BAG_SUM_H
#define GPUKERN_BAGS_BAG_SUM_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Contiguous arrays of one GPU: table (rows, width), index (bags, bag_size), sums (bags, width). */
typedef struct bag_sum_args {
  const float *table;
  const int64_t *index;
  float *sums;
  int64_t rows, width, bags, bag_size;
} bag_sum_args;

#ifdef GPUKERN_BAGS_CUDA

/* Enqueues sums[b, :] = table[index[b, 0] mod rows, :] + table[index[b, 1] mod rows, :] + ..., in
 * this order, on a cudaStream_t of the GPU device_id. Returns NULL or CUDA's error message.
 */
const char *bag_sum_enqueue(const bag_sum_args *args, int device_id, void *stream);

/* Finds the GPU of a device address. Returns NULL or CUDA's error message. */
const char *bag_sum_device_of(const void *address, int32_t *device_id);

#else

static const char *const kBagSumNotBuilt = "gpukern_bags was built without CUDA";

static inline const char *bag_sum_enqueue(const bag_sum_args *args, int device_id, void *stream) {
  (void)args, (void)device_id, (void)stream;
  return kBagSumNotBuilt;
}

static inline const char *bag_sum_device_of(const void *address, int32_t *device_id) {
  (void)address, (void)device_id;
  return kBagSumNotBuilt;
}

#endif

#ifdef __cplusplus
}
#endif

#endif /* GPUKERN_BAGS_BAG_SUM_H */
