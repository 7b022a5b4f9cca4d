/* SPDX-FileCopyrightText: 2026 The gpukern authors
 * SPDX-License-Identifier: Apache-2.0 */
// clang-format Language: C

/**
 * @file table.h
 * @brief Memory of several GPUs, of one or more processes, at one range of addresses.
 *
 * A table is divided into parts, each in the memory of one GPU. Kernels on any of its devices
 * access all parts by one pointer, through CUDA's virtual memory management; access to the part of
 * another GPU goes over NVLink or PCIe. A tensor in the table names the device that accesses it:
 *
 * @code
 * int64_t bytes[] = {rows * row_bytes, rows * row_bytes};
 * int32_t devices[] = {0, 1};
 * gpukern_table_desc desc = {sizeof desc, 2, bytes, devices, 2, devices, 0, 0};
 * gpukern_table *table;
 * gpukern_table_create(&desc, &table);
 * gpukern_tensor source = {gpukern_table_data(table), {GPUKERN_CUDA, 1}, 2, dtype, shape, NULL, 0};
 * gpukern_gather(&source, &index_on_cuda_1, 0, &out_on_cuda_1, NULL, NULL);
 * @endcode
 *
 * For parts of several processes of one host, each process creates the table with -1 as the device
 * of the parts that it does not have, exports its parts, and imports those of the others. Tables
 * are not ordered with streams: a caller orders accesses by several devices and processes, and
 * destroys a table when all work on it has run.
 */
#ifndef GPUKERN_TABLE_H
#define GPUKERN_TABLE_H

#include "gpukern/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The largest number of parts of a table. */
#define GPUKERN_MAX_TABLE_PARTS 4096

/** What a table consists of. Set `struct_size` to `sizeof(gpukern_table_desc)`. */
typedef struct gpukern_table_desc {
  size_t struct_size;
  int32_t part_count;
  const int64_t *part_bytes;   /**< of each part, in the order of the addresses; 0 is allowed */
  const int32_t *part_devices; /**< the ordinal of the CUDA device of each part, or -1 for a part of
                                    another process */
  int32_t device_count;
  const int32_t *devices; /**< the ordinals of the devices that access the table */
  int32_t exported;       /**< 1 if other processes import parts of this one, else 0 */
  int32_t reserved;       /**< 0; not read */
} gpukern_table_desc;

/** How a handle names memory; numbers are those of CUmemAllocationHandleType. */
typedef enum gpukern_handle_type {
  GPUKERN_HANDLE_NONE = 0,  /**< of a part that occupies no memory */
  GPUKERN_HANDLE_FILE = 1,  /**< a file descriptor, sent through a Unix domain socket */
  GPUKERN_HANDLE_FABRIC = 8 /**< bytes, valid wherever the NVLink fabric of the GPU reaches */
} gpukern_handle_type;

/** Names the memory of a part to another process. */
typedef struct gpukern_table_handle {
  int32_t type;             /**< a ::gpukern_handle_type */
  int32_t file;             /**< of GPUKERN_HANDLE_FILE; the caller closes it. -1 without memory */
  unsigned char fabric[64]; /**< of GPUKERN_HANDLE_FABRIC */
} gpukern_table_handle;

/** Memory of several GPUs. */
typedef struct gpukern_table gpukern_table;

/**
 * @brief Allocates the parts of this process, and maps them.
 *
 * Memory is allocated in pages of 2 MiB, each on the device of the part in which the page begins:
 * the last page of a part also has the first bytes of the next part. The memory is uninitialized.
 *
 * @param[in] desc the parts
 * @param[out] table destroy with gpukern_table_destroy()
 * @return GPUKERN_DEVICE_ERROR for a device that does not exist, or cannot access the memory of
 *         another; GPUKERN_MEMORY_ERROR if a device lacks memory
 */
GPUKERN_API gpukern_status gpukern_table_create(const gpukern_table_desc *desc,
                                                gpukern_table **table);

/** @brief Returns the address of the first part, aligned to 2 MiB; NULL for a table of no bytes. */
GPUKERN_API void *gpukern_table_data(const gpukern_table *table);

/**
 * @brief Exports the memory of a part of this process.
 * @param[in] table created with gpukern_table_desc::exported
 * @param[in] part its number
 * @param[in] type GPUKERN_HANDLE_FILE or GPUKERN_HANDLE_FABRIC
 * @param[out] handle of this type, or of GPUKERN_HANDLE_NONE; valid while the table exists
 * @return GPUKERN_DEVICE_ERROR if the system has no handles of this type
 */
GPUKERN_API gpukern_status gpukern_table_export(const gpukern_table *table, int32_t part,
                                                int32_t type, gpukern_table_handle *handle);

/**
 * @brief Maps a part of another process. Its memory stays allocated while it is mapped anywhere.
 * @param[in] table created with the same part sizes as that of the other process
 * @param[in] part the number of a part with device -1, which has not been imported
 * @param[in] handle of gpukern_table_export() in the other process
 * @return GPUKERN_DEVICE_ERROR if a device of the table cannot access the memory
 */
GPUKERN_API gpukern_status gpukern_table_import(gpukern_table *table, int32_t part,
                                                const gpukern_table_handle *handle);

/**
 * @brief Unmaps a table and releases its memory. All work on it must have run.
 * @param[in] table may be NULL
 */
GPUKERN_API gpukern_status gpukern_table_destroy(gpukern_table *table);

#ifdef __cplusplus
}
#endif

#endif /* GPUKERN_TABLE_H */
