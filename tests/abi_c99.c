/* SPDX-FileCopyrightText: 2026 The gpukern authors
 * SPDX-License-Identifier: Apache-2.0 */

/* The headers in strict C99: compiled with -std=c99 -Wpedantic -Werror. */

#include "gpukern/explain.h"
#include "gpukern/gpukern.h"
#include "gpukern/pipeline.h"
#include "gpukern/saxpy_list.h"

int32_t gpukern_c99_gather_and_saxpy(void);

/* Gathers two items and doubles them; returns their sum, or minus the status of a failed call. */
int32_t gpukern_c99_gather_and_saxpy(void) {
  int32_t source[4] = {1, 10, 100, 1000};
  int64_t index[2] = {-1, 1};
  int32_t out[2] = {0, 0};
  const int32_t one = 1;
  int64_t four = 4, two = 2;
  const gpukern_dtype int32_dtype = {GPUKERN_INT, 32, 1};
  const gpukern_dtype int64_dtype = {GPUKERN_INT, 64, 1};
  const gpukern_device cpu = {GPUKERN_CPU, 0};
  gpukern_exec exec = GPUKERN_EXEC_INIT;
  gpukern_gather_options options = GPUKERN_GATHER_OPTIONS_INIT;
  gpukern_explanation explanation = GPUKERN_EXPLANATION_INIT;
  gpukern_tensor source_tensor, index_tensor, out_tensor;
  gpukern_status status;

  source_tensor.data = source;
  source_tensor.device = cpu;
  source_tensor.ndim = 1;
  source_tensor.dtype = int32_dtype;
  source_tensor.shape = &four;
  source_tensor.strides = NULL;
  source_tensor.byte_offset = 0;
  index_tensor = source_tensor;
  index_tensor.data = index;
  index_tensor.dtype = int64_dtype;
  index_tensor.shape = &two;
  out_tensor = source_tensor;
  out_tensor.data = out;
  out_tensor.shape = &two;
  exec.device = cpu;

  status = gpukern_gather(&source_tensor, &index_tensor, 0, &out_tensor, &options, &exec);
  if (status != GPUKERN_SUCCESS) return -(int32_t)status;
  status = gpukern_saxpy(&one, &out_tensor, &out_tensor, &out_tensor, &exec);
  if (status != GPUKERN_SUCCESS) return -(int32_t)status;
  exec.explanation = &explanation;
  status = gpukern_saxpy(&one, &out_tensor, &out_tensor, &out_tensor, &exec);
  if (status != GPUKERN_SUCCESS) return -(int32_t)status;
  if (explanation.rule != GPUKERN_RULE_ARGUMENT || explanation.bytes_written != (int64_t)sizeof out)
    return 0;
  return out[0] + out[1];
}
