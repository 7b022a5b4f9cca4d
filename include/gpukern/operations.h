/* SPDX-FileCopyrightText: 2026 The gpukern authors
 * SPDX-License-Identifier: Apache-2.0 */
// clang-format Language: C

/**
 * @file operations.h
 * @brief The operations on indices and masks: reads, writes, reductions, selection. gpukern.h
 *        includes it.
 */
#ifndef GPUKERN_OPERATIONS_H
#define GPUKERN_OPERATIONS_H

#include "gpukern/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** How an indexing operation treats an index outside [0, n), n being the length of the axis. */
typedef enum gpukern_index_mode {
  GPUKERN_INDEX_RAISE = 0, /**< [-n, -1] counts from the end; others are a GPUKERN_INDEX_ERROR */
  GPUKERN_INDEX_WRAP = 1,  /**< modulo n; the result has the sign of n */
  GPUKERN_INDEX_CLIP = 2,  /**< clipped to [0, n - 1], so that a negative index becomes 0 */
  GPUKERN_INDEX_FILL = 3   /**< [-n, -1] counts from the end; others give the fill value */
} gpukern_index_mode;

/**
 * The algorithm of an indexing operation on a GPU. The result does not depend on it.
 * GPUKERN_GATHER_AUTO is $GPUKERN_GATHER (auto, direct or partitioned; it applies to 4096 indices
 * or more); auto chooses by the sizes and by a sample of the indices on the GPU.
 */
typedef enum gpukern_gather_path {
  GPUKERN_GATHER_AUTO = 0,
  GPUKERN_GATHER_DIRECT = 1,     /**< one access for each item */
  GPUKERN_GATHER_PARTITIONED = 2 /**< indices sorted by slices of the source, where the layout
                                      allows it and scratch memory suffices; else direct */
} gpukern_gather_path;

/**
 * @brief Options of gather and take_along_axis.
 *
 * Set `struct_size` to `sizeof(gpukern_gather_options)` (GPUKERN_GATHER_OPTIONS_INIT does): the
 * struct may grow.
 */
typedef struct gpukern_gather_options {
  size_t struct_size;
  int32_t mode; /**< a ::gpukern_index_mode */
  int32_t path; /**< a ::gpukern_gather_path */
  /** For GPUKERN_INDEX_FILL: a C-contiguous host tensor of the source's dtype, whose shape is a
   * suffix of source.shape[axis+1:] (0-d always fits). NULL fills with zero bytes. In
   * take_along_axis, index has length 1 along the dimensions of that suffix. */
  const gpukern_tensor *fill_value;
  /** Nonzero: a call in mode GPUKERN_INDEX_RAISE that returns GPUKERN_INDEX_ERROR may have
   * written to `out`. Indices are then checked while items are read, instead of before. */
  int32_t out_may_change;
  /** For gather: the number of `further_indices`, 0 to index the axis alone. */
  int32_t further_index_count;
  /** Tensors like `index`, for the axes after `axis`: `source[index, further_indices[0], ...]`. All
   * index tensors broadcast against each other, and their shape replaces all of these axes.
   * GPUKERN_INDEX_RAISE checks one after the other, unless that shape is empty. In scatter, and in
   * some gathers on a GPU, they take 8 bytes of scratch memory for each item. */
  const gpukern_tensor *const *further_indices;
} gpukern_gather_options;

#define GPUKERN_GATHER_OPTIONS_INIT \
  {sizeof(gpukern_gather_options), GPUKERN_INDEX_RAISE, GPUKERN_GATHER_AUTO, NULL, 0, 0, NULL}

/**
 * @brief Gathers items of the source along an axis: `out[a, i, b] = source[a, index[i], b]`.
 *
 * Items are copied as bytes, so every dtype works and is preserved bit for bit. No mode reads
 * outside the source, for any index. Where out overlaps the source, the index or the fill value,
 * the result is that of separate memory.
 *
 * Stream behaviour: enqueues, except in mode GPUKERN_INDEX_RAISE without
 * gpukern_exec::index_errors, which waits for the stream, and during stream capture is a
 * GPUKERN_VALUE_ERROR. Host tensors computed on a GPU are ready on return.
 *
 * With index and out on a GPU, the source may be in page-locked host memory. The GPU then reads the
 * items in place, in stream order; in large calls CPU threads gather a share of them
 * ($GPUKERN_CPU_SHARE percent if set). The source must stay valid and unchanged until that work has
 * run; it may be larger than the GPU's memory.
 *
 * With a source on a GPU, a 0-d index without further ones may be in host memory, and changed when
 * the call returns. It is checked there: the call only enqueues a copy of the item, in any mode.
 *
 * Host tensors computed on a GPU: the source is copied to the GPU only if it fits and most of it is
 * read. Otherwise the GPU reads it in place if it is page-locked; if not, CPU threads gather.
 *
 * @param[in] source any shape, any dtype of whole bytes; 0-d counts as shape (1)
 * @param[in] index any shape, any integer dtype of 8 to 64 bits
 * @param[in] axis in [-ndim, ndim), or GPUKERN_AXIS_NONE for the flattened source
 * @param[out] out of the source's dtype, shape
 *             source.shape[:axis] + index.shape + source.shape[axis+1:], or as
 *             gpukern_gather_options::further_indices says
 * @param[in] options may be NULL: mode GPUKERN_INDEX_RAISE and the defaults
 * @param[in] exec may be NULL
 * @return GPUKERN_INDEX_ERROR in mode GPUKERN_INDEX_RAISE, naming the first bad index in C order;
 *         out is then unchanged, but see gpukern_gather_options::out_may_change. No index is
 *         checked if a dimension before the axis is empty. In every mode, GPUKERN_INDEX_ERROR for
 *         an empty axis unless the result is empty, for more indices than axes, and for indices
 *         that do not broadcast.
 */
GPUKERN_API gpukern_status gpukern_gather(const gpukern_tensor *source, const gpukern_tensor *index,
                                          int32_t axis, const gpukern_tensor *out,
                                          const gpukern_gather_options *options,
                                          const gpukern_exec *exec);

/**
 * @brief Takes an element for each index along an axis, as numpy.take_along_axis:
 *        `out[a, i, b] = source[a, index[a, i, b], b]`.
 *
 * Source and index broadcast against each other outside the axis, along which they may have any
 * lengths. All else is as in gpukern_gather(): options, overlap, streams, and a source in
 * page-locked host memory.
 *
 * @param[in] source any shape, any dtype of whole bytes
 * @param[in] index of as many dimensions as the source, any integer dtype of 8 to 64 bits
 * @param[in] axis in [-ndim, ndim), or GPUKERN_AXIS_NONE for the flattened source and a 1-D index;
 *            a 0-d source has no other axis
 * @param[out] out of the source's dtype; its shape is index.shape[axis] along the axis, and the
 *             broadcast of the shapes of source and index along all other dimensions
 * @param[in] options may be NULL: mode GPUKERN_INDEX_RAISE and the defaults
 * @param[in] exec may be NULL
 * @return GPUKERN_INDEX_ERROR in mode GPUKERN_INDEX_RAISE, naming the first bad index in C order;
 *         out is then unchanged, but see gpukern_gather_options::out_may_change. No index is
 *         checked if the result is empty. In every mode, GPUKERN_INDEX_ERROR for an empty axis
 *         unless the result is empty.
 */
GPUKERN_API gpukern_status gpukern_take_along_axis(const gpukern_tensor *source,
                                                   const gpukern_tensor *index, int32_t axis,
                                                   const gpukern_tensor *out,
                                                   const gpukern_gather_options *options,
                                                   const gpukern_exec *exec);

/** How scatter combines the values of one element of the target. */
typedef enum gpukern_reduce {
  GPUKERN_REDUCE_NONE = 0, /**< the last value in C order of the index replaces the element */
  GPUKERN_REDUCE_ADD = 1,
  GPUKERN_REDUCE_MULTIPLY = 2,
  GPUKERN_REDUCE_MIN = 3, /**< NaN if any is NaN; -0 is less than +0 */
  GPUKERN_REDUCE_MAX = 4, /**< likewise */
  GPUKERN_REDUCE_MEAN = 5 /**< of the element and its values; floating-point and complex */
} gpukern_reduce;

/** The order in which scatter combines floating-point values. */
typedef enum gpukern_order {
  GPUKERN_ORDER_FIXED = 0, /**< the same bits on every device and in every run */
  GPUKERN_ORDER_ANY = 1    /**< on a GPU possibly by atomic operations, in varying order */
} gpukern_order;

/**
 * @brief Options of scatter and put_along_axis.
 *
 * Set `struct_size` to `sizeof(gpukern_scatter_options)` (GPUKERN_SCATTER_OPTIONS_INIT does): the
 * struct may grow.
 */
typedef struct gpukern_scatter_options {
  size_t struct_size;
  int32_t mode;   /**< a ::gpukern_index_mode; GPUKERN_INDEX_FILL skips values out of bounds */
  int32_t reduce; /**< a ::gpukern_reduce */
  int32_t order;  /**< a ::gpukern_order */
  /** Nonzero: no two indices refer to the same element, which saves sorting them on a GPU. If some
   * do, these elements are unspecified afterwards; no other is written. */
  int32_t unique;
  /** For scatter: the number of `further_indices`, 0 to index the axis alone. */
  int32_t further_index_count;
  /** Tensors like `index`, for the axes after `axis`, as in gpukern_gather_options. */
  const gpukern_tensor *const *further_indices;
} gpukern_scatter_options;

#define GPUKERN_SCATTER_OPTIONS_INIT \
  {sizeof(gpukern_scatter_options),  \
   GPUKERN_INDEX_RAISE,              \
   GPUKERN_REDUCE_NONE,              \
   GPUKERN_ORDER_FIXED,              \
   0,                                \
   0,                                \
   NULL}

/**
 * @brief Writes values to the elements of a target along an axis:
 *        `target[a, index[i], b] = values[a, i, b]`, or combines them with these elements.
 *
 * With GPUKERN_REDUCE_NONE elements are copied as bytes, and of several values for one element the
 * last one in C order of the index remains. The other reductions take float16, bfloat16, float32,
 * float64, complex64, complex128 (add and mean only) and integers of 8 to 64 bits (no mean), which
 * wrap around. They combine an element with its values in this order: the element, then its values
 * in C order of the index, in blocks of 256 from left to right; adjacent blocks are then combined
 * pairwise, level by level. So the result has the same bits on all devices, with any number of
 * threads, and for up to 255 values an element those of a loop over the index, but for 16-bit
 * types, which are computed in float32 and rounded once, and NaN, which is the quiet NaN with a
 * clear sign bit. With GPUKERN_ORDER_ANY on a GPU, subnormals of float32 and bfloat16 may become 0,
 * and the bits of a NaN and the sign of a zero of 16 bits are unspecified.
 *
 * Adding a 0-d value of 1 to int64 zeros counts the indices, as numpy.bincount.
 *
 * With `out`, the target is only read, and out becomes a copy of it with the values written. No
 * mode writes outside the array that is written to, for any index. Where the arguments overlap, the
 * result is that of separate memory.
 *
 * If the array that is written to is on a GPU, these may be in host memory: 0-d values, a 0-d index
 * without further ones, and, with `out`, a target of one element or of one that strides of 0
 * repeat. The call has read them when it returns. Elements of up to 16 bytes are copied without a
 * wait.
 *
 * Stream behaviour: enqueues, except in mode GPUKERN_INDEX_RAISE without
 * gpukern_exec::index_errors, which waits for the stream, and during stream capture is a
 * GPUKERN_VALUE_ERROR. Host tensors computed on a GPU are ready on return; they pass through it in
 * chunks unless they fit as a whole. On a GPU, a call needs scratch memory: of up to 128 Ki
 * indices, at most 700 bytes for each and 48 MiB in all; of more, 4 to 64 bytes for each; and of
 * reduced rows 1/32 of the values, as accumulated. It is within
 * gpukern_exec::device_memory_limit.
 *
 * @param[in,out] target any shape, any dtype of whole bytes; 0-d counts as shape (1)
 * @param[in] index any shape, any integer dtype of 8 to 64 bits
 * @param[in] values of the target's dtype; its shape broadcasts to
 *            target.shape[:axis] + index.shape + target.shape[axis+1:]
 * @param[in] axis in [-ndim, ndim), or GPUKERN_AXIS_NONE for the flattened target
 * @param[out] out of the target's shape and dtype, or NULL for the target itself
 * @param[in] options may be NULL: the defaults of GPUKERN_SCATTER_OPTIONS_INIT
 * @param[in] exec may be NULL
 * @return GPUKERN_INDEX_ERROR in mode GPUKERN_INDEX_RAISE, naming the first bad index in C order;
 *         target and out are then unchanged. In every mode, GPUKERN_INDEX_ERROR for an empty axis
 *         unless there is no value to write, for more indices than axes, and for indices that do
 *         not broadcast. GPUKERN_TYPE_ERROR for a dtype without the reduction.
 */
GPUKERN_API gpukern_status gpukern_scatter(const gpukern_tensor *target,
                                           const gpukern_tensor *index,
                                           const gpukern_tensor *values, int32_t axis,
                                           const gpukern_tensor *out,
                                           const gpukern_scatter_options *options,
                                           const gpukern_exec *exec);

/**
 * @brief Writes a value for each index along an axis, as numpy.put_along_axis:
 *        `target[a, index[a, i, b], b] = values[a, i, b]`, or combines them with these elements.
 *
 * Target and index broadcast against each other outside the axis, along which they may have any
 * lengths. All else is as in gpukern_scatter(); the order of the values is the C order of this
 * broadcast shape.
 *
 * @param[in,out] target any shape, any dtype of whole bytes
 * @param[in] index of as many dimensions as the target, any integer dtype of 8 to 64 bits
 * @param[in] values of the target's dtype; its shape broadcasts to index.shape[axis] along the axis
 *            and the broadcast of the shapes of target and index along all other dimensions
 * @param[in] axis in [-ndim, ndim), or GPUKERN_AXIS_NONE for the flattened target and a 1-D index;
 *            a 0-d target has no other axis
 * @param[out] out of the target's shape and dtype, or NULL for the target itself
 * @param[in] options may be NULL
 * @param[in] exec may be NULL
 * @return as gpukern_scatter()
 */
GPUKERN_API gpukern_status gpukern_put_along_axis(const gpukern_tensor *target,
                                                  const gpukern_tensor *index,
                                                  const gpukern_tensor *values, int32_t axis,
                                                  const gpukern_tensor *out,
                                                  const gpukern_scatter_options *options,
                                                  const gpukern_exec *exec);

/**
 * @brief Options of gather_reduce and segment_reduce.
 *
 * Set `struct_size` to `sizeof(gpukern_gather_reduce_options)` (GPUKERN_GATHER_REDUCE_OPTIONS_INIT
 * does): the struct may grow.
 */
typedef struct gpukern_gather_reduce_options {
  size_t struct_size;
  int32_t mode;   /**< a ::gpukern_index_mode; GPUKERN_INDEX_FILL leaves items out of bounds out of
                       their bag */
  int32_t reduce; /**< GPUKERN_REDUCE_ADD, GPUKERN_REDUCE_MIN, GPUKERN_REDUCE_MAX or
                       GPUKERN_REDUCE_MEAN, here of the items alone */
} gpukern_gather_reduce_options;

#define GPUKERN_GATHER_REDUCE_OPTIONS_INIT \
  {sizeof(gpukern_gather_reduce_options), GPUKERN_INDEX_RAISE, GPUKERN_REDUCE_ADD}

/**
 * @brief Reduces bags of items that an index takes along an axis:
 *        `out[a, b, c]` is the reduction of `source[a, index[i], c]` for all i in
 *        [offsets[b], offsets[b + 1]).
 *
 * Dtypes, rounding, NaN and zeros are those of the reductions of gpukern_scatter(). The items of a
 * bag are combined in their order, in blocks of 256 from left to right, starting at the first item
 * of the bag; adjacent blocks are then combined pairwise, level by level. So the result has the
 * same bits on all devices and with any number of threads. A bag without items gives 0 in every
 * reduction. An item that GPUKERN_INDEX_FILL leaves out keeps its place in its block, and does not
 * count in a mean.
 *
 * With weights, an item is multiplied by its weight, and the product is rounded to the type in
 * which items are added (float32 for the 16-bit types) before it is added.
 *
 * No mode reads outside the source, for any index and any offsets. Where out overlaps an input, the
 * result is that of separate memory.
 *
 * Stream behaviour: enqueues, except in mode GPUKERN_INDEX_RAISE, which waits for the stream;
 * during stream capture GPUKERN_INDEX_RAISE is a GPUKERN_VALUE_ERROR. Host tensors computed on a
 * GPU are ready on return; they pass through it in chunks unless they fit as a whole.
 *
 * @param[in] source any shape, any dtype that the reduction takes; 0-d counts as shape (1)
 * @param[in] index 1-D, any integer dtype of 8 to 64 bits
 * @param[in] offsets 1-D, any integer dtype of 8 to 64 bits; one more than there are bags. They do
 *            not fall, and are in [0, len(index)]; items before the first and from the last one on
 *            are in no bag. In modes other than GPUKERN_INDEX_RAISE, offsets are clipped to
 *            that range, and a bag that ends before it begins has no items.
 * @param[in] weights of the source's dtype and the index's shape, for GPUKERN_REDUCE_ADD; or NULL
 * @param[in] axis in [-ndim, ndim), or GPUKERN_AXIS_NONE for the flattened source
 * @param[out] out of the source's dtype, shape
 *             source.shape[:axis] + (len(offsets) - 1,) + source.shape[axis+1:]
 * @param[in] options may be NULL: the defaults of GPUKERN_GATHER_REDUCE_OPTIONS_INIT
 * @param[in] exec may be NULL
 * @return in mode GPUKERN_INDEX_RAISE, GPUKERN_VALUE_ERROR for offsets that fall or leave their
 *         range and GPUKERN_INDEX_ERROR for a bad index, also outside of all bags, naming the first
 *         one; out is then unchanged. In every mode, GPUKERN_INDEX_ERROR for an index into an empty
 *         axis unless the result is empty. GPUKERN_TYPE_ERROR for a dtype without the reduction.
 */
GPUKERN_API gpukern_status gpukern_gather_reduce(
    const gpukern_tensor *source, const gpukern_tensor *index, const gpukern_tensor *offsets,
    const gpukern_tensor *weights, int32_t axis, const gpukern_tensor *out,
    const gpukern_gather_reduce_options *options, const gpukern_exec *exec);

/**
 * @brief Reduces segments along an axis: `out[a, s, c]` is the reduction of `x[a, i, c]` for all i
 *        in [offsets[s], offsets[s + 1]).
 *
 * It is gpukern_gather_reduce() with the index 0, 1, 2, ...: the same dtypes, order, bits and
 * stream behaviour.
 *
 * @param[in] x any shape, any dtype that the reduction takes; 0-d counts as shape (1)
 * @param[in] offsets as in gpukern_gather_reduce(), in [0, x.shape[axis]]
 * @param[in] axis in [-ndim, ndim), or GPUKERN_AXIS_NONE for the flattened x
 * @param[out] out of x's dtype, shape x.shape[:axis] + (len(offsets) - 1,) + x.shape[axis+1:]
 * @param[in] options may be NULL. The mode is GPUKERN_INDEX_RAISE or GPUKERN_INDEX_CLIP, and says
 *            what to do with offsets that fall or leave their range.
 * @param[in] exec may be NULL
 * @return GPUKERN_VALUE_ERROR in mode GPUKERN_INDEX_RAISE for offsets that fall or leave their
 *         range, naming the first one; out is then unchanged
 */
GPUKERN_API gpukern_status gpukern_segment_reduce(const gpukern_tensor *x,
                                                  const gpukern_tensor *offsets, int32_t axis,
                                                  const gpukern_tensor *out,
                                                  const gpukern_gather_reduce_options *options,
                                                  const gpukern_exec *exec);

/**
 * @brief Counts the nonzero elements of a mask.
 *
 * -0 is zero, NaN is not, and a complex number is zero if both of its parts are.
 *
 * Stream behaviour: waits for the stream; during stream capture it is a GPUKERN_VALUE_ERROR.
 *
 * @param[in] mask any shape; bool, an integer of 8 to 64 bits, float16, bfloat16, float32, float64,
 *            complex64 or complex128
 * @param[out] count one number in host memory; 0 for an empty mask. With an explanation (see
 *             ::gpukern_exec) the number of all elements.
 * @param[in] exec may be NULL; its progress is only asked whether to go on: 0 of 1 bytes are done
 * @return GPUKERN_TYPE_ERROR for a mask of another dtype
 */
GPUKERN_API gpukern_status gpukern_count_nonzero(const gpukern_tensor *mask, int64_t *count,
                                                 const gpukern_exec *exec);

/**
 * @brief Options of nonzero and compress.
 *
 * Set `struct_size` to `sizeof(gpukern_select_options)` (GPUKERN_SELECT_OPTIONS_INIT does): the
 * struct may grow.
 */
typedef struct gpukern_select_options {
  size_t struct_size;
  /** What the rest of `out` is filled with if fewer elements are selected than it holds: a
   * C-contiguous host tensor of out's dtype, read before the call returns. Nonzero takes one
   * number; compress takes also a shape that is a suffix of x.shape[axis+1:]. NULL fills with zero
   * bytes. */
  const gpukern_tensor *fill_value;
} gpukern_select_options;

#define GPUKERN_SELECT_OPTIONS_INIT {sizeof(gpukern_select_options), NULL}

/**
 * @brief Writes the coordinates of the nonzero elements of a mask in C order, as numpy.nonzero:
 *        `out[d, k]` is the coordinate along dimension d of the k-th nonzero element.
 *
 * The size of `out` says how many: of more nonzero elements the first ones are written; if there
 * are fewer, the rest of out is filled with the fill value. gpukern_count_nonzero() gives the
 * number of all of them. Where out overlaps the mask, the result is that of separate memory.
 *
 * Stream behaviour: enqueues. Host tensors computed on a GPU pass through it in chunks, and the
 * result is ready on return. On a GPU, the call needs scratch memory of a bit for each element.
 *
 * @param[in] mask of one dimension or more, and a dtype of gpukern_count_nonzero()
 * @param[out] out int64, shape (mask.ndim, size), any strides but 0
 * @param[in] options may be NULL: the defaults of GPUKERN_SELECT_OPTIONS_INIT
 * @param[in] exec may be NULL
 * @return GPUKERN_TYPE_ERROR for a mask of another dtype; GPUKERN_VALUE_ERROR for a 0-d mask
 */
GPUKERN_API gpukern_status gpukern_nonzero(const gpukern_tensor *mask, const gpukern_tensor *out,
                                           const gpukern_select_options *options,
                                           const gpukern_exec *exec);

/**
 * @brief Takes the items of x along an axis for which a mask is not zero, as numpy.compress:
 *        `out[a, k, b] = x[a, i, b]`, where i is the position of the k-th nonzero element.
 *
 * The length of `out` along the axis says how many: of more nonzero elements the first ones count;
 * if there are fewer, the rest of out is filled with the fill value. Items are copied as bytes, so
 * every dtype of x works and is preserved bit for bit. Where out overlaps an input, the result is
 * that of separate memory.
 *
 * Stream behaviour: enqueues. Host tensors computed on a GPU pass through it in chunks, and the
 * result is ready on return. On a GPU, the call needs scratch memory of a bit for each element of
 * the mask, and of 8 bytes for each item of the output unless x is flattened or 1-D, and elements
 * have 1, 2, 4, 8 or 16 bytes, to which x and out are aligned.
 *
 * @param[in] mask of a dtype of gpukern_count_nonzero(): 1-D, or for the flattened x also of the
 *            shape of x. It may be shorter than the axis; elements beyond the axis are not read.
 * @param[in] x any shape, any dtype of whole bytes; 0-d counts as shape (1)
 * @param[in] axis in [-ndim, ndim), or GPUKERN_AXIS_NONE for the flattened x
 * @param[out] out of x's dtype, shape x.shape[:axis] + (size,) + x.shape[axis+1:]
 * @param[in] options may be NULL: the defaults of GPUKERN_SELECT_OPTIONS_INIT
 * @param[in] exec may be NULL
 * @return GPUKERN_TYPE_ERROR for a mask of another dtype
 */
GPUKERN_API gpukern_status gpukern_compress(const gpukern_tensor *mask, const gpukern_tensor *x,
                                            int32_t axis, const gpukern_tensor *out,
                                            const gpukern_select_options *options,
                                            const gpukern_exec *exec);

#ifdef __cplusplus
}
#endif

#endif /* GPUKERN_OPERATIONS_H */
