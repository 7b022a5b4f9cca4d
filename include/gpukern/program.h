/* SPDX-FileCopyrightText: 2026 The gpukern authors
 * SPDX-License-Identifier: Apache-2.0 */
// clang-format Language: C

/**
 * @file program.h
 * @brief Programs: CUDA C++ compiled at run time by NVRTC, and their kernels.
 *
 * @code
 * gpukern_program_desc desc = GPUKERN_PROGRAM_DESC_INIT;
 * desc.source = "extern \"C\" __global__ void add(float *x, float a, int n) { ... }";
 * gpukern_program_compile(&desc, &program);
 * gpukern_program_kernel(program, "add", 0, &kernel);
 * gpukern_kernel_launch(kernel, &launch, arguments, sizes, 3, NULL);
 * @endcode
 *
 * NVRTC is opened when the first program needs it: from $GPUKERN_NVRTC, a directory named with
 * gpukern_nvrtc_search(), the CUDA toolkit ($CUDA_HOME, $CUDA_PATH, /usr/local/cuda), or the search
 * path of the loader. Compilation for a named architecture needs no GPU. The CUDA headers
 * (cuda_fp16.h, CCCL's cuda/std) are found next to NVRTC or in the same directories, and are on the
 * include path.
 *
 * Compiled programs are cached in memory and on disk, see ::gpukern_cache_info. In a build without
 * CUDA, compilation is a GPUKERN_DEVICE_ERROR. All functions may be called from any thread.
 */
#ifndef GPUKERN_PROGRAM_H
#define GPUKERN_PROGRAM_H

#include "gpukern/gpukern.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- programs ------------------------------------------------------------------------------- */

/** A compiled program. */
typedef struct gpukern_program gpukern_program;

/** A kernel of a program, loaded on one device. */
typedef struct gpukern_kernel gpukern_kernel;

/** A header in memory: `#include "name"` and `#include <name>` find its source. */
typedef struct gpukern_header {
  const char *name;
  const char *source;
} gpukern_header;

/**
 * @brief A program to compile. It is read before the call returns.
 *
 * Options are those of NVRTC, one per string: "--fmad=false", "-DN=4", "-I/usr/include/mine",
 * "--std=c++20", "--use_fast_math", "-lineinfo". An option that NVRTC does not know is a
 * GPUKERN_VALUE_ERROR that names it; so is one that contradicts this struct (an architecture), or
 * whose output cannot be launched (relocatable code, LTO or OptiX IR). Includes find the headers
 * of this struct, then with quotes the directory of the including file, then the directories of -I,
 * then CUDA's own; never the current directory.
 */
typedef struct gpukern_program_desc {
  size_t struct_size;         /**< sizeof(gpukern_program_desc) */
  const char *source;         /**< CUDA C++, UTF-8, NUL-terminated */
  const char *name;           /**< the file name in messages; NULL: "program.cu" */
  const char *architecture;   /**< "sm_90", "sm_90a", "compute_90"; NULL: `device`'s */
  int32_t device;             /**< a CUDA ordinal, read where architecture is NULL */
  const char *const *options; /**< NULL if option_count is 0 */
  size_t option_count;
  const gpukern_header *headers; /**< NULL if header_count is 0 */
  size_t header_count;
  const char *const *name_expressions; /**< template instances: "scale<float>", "&ns::f<4>" */
  size_t name_expression_count;
  const char *cache_key; /**< the key in the cache; NULL: all of the above, and `note` */
  const char *note;      /**< text that is stored with the program; may be NULL */
} gpukern_program_desc;

#define GPUKERN_PROGRAM_DESC_INIT \
  {sizeof(gpukern_program_desc), NULL, NULL, NULL, 0, NULL, 0, NULL, 0, NULL, 0, NULL, NULL}

/**
 * @brief Compiles a program, or finds it compiled in memory or on disk.
 *
 * Waits for the compiler, never for a GPU. Threads that request the same program concurrently
 * compile it once. If NVRTC is older than the GPU, the program is compiled to PTX for the newest
 * architecture that NVRTC knows, which the driver compiles further.
 *
 * A caller that generates sources may pass a cache key, such as a formula and the types of its
 * operands. The key replaces the source, its name, the options, headers, name expressions and the
 * note; equal keys must mean equal programs. Architecture, NVRTC and gpukern's version remain part
 * of the key. With a key and without a source nothing is compiled: the program is the cached one
 * with this key, or NULL.
 *
 * @param[in] desc set its struct_size first (GPUKERN_PROGRAM_DESC_INIT does)
 * @param[out] program release with gpukern_program_release(); NULL on failure, and if a key
 *             without a source finds none
 * @return GPUKERN_COMPILE_ERROR if the source does not compile: the message holds the beginning of
 *         NVRTC's log, gpukern_compile_log() all of it. GPUKERN_VALUE_ERROR for an invalid
 *         option, architecture or struct. GPUKERN_DEVICE_ERROR without NVRTC (the message names
 *         the places that were searched), without a CUDA build, and if architecture is NULL and the
 *         device does not exist.
 */
GPUKERN_API gpukern_status gpukern_program_compile(const gpukern_program_desc *desc,
                                                   gpukern_program **program);

/**
 * @brief Releases a program. Its kernels and pending launches keep it alive.
 * @param[in] program may be NULL
 */
GPUKERN_API gpukern_status gpukern_program_release(gpukern_program *program);

/** The parts that gpukern_program_get() reads. */
typedef enum gpukern_program_part {
  GPUKERN_PROGRAM_PTX = 0,          /**< text */
  GPUKERN_PROGRAM_CUBIN = 1,        /**< machine code; of size 0 for "compute_XX" */
  GPUKERN_PROGRAM_LOG = 2,          /**< text: NVRTC's warnings, often empty */
  GPUKERN_PROGRAM_ARCHITECTURE = 3, /**< text: what it was compiled for, such as "sm_90" */
  GPUKERN_PROGRAM_NOTE = 4          /**< text: the note that it was compiled with, or "" */
} gpukern_program_part;

/**
 * @brief Reads a part of a program.
 * @param[in] program from gpukern_program_compile()
 * @param[in] part what to read
 * @param[out] data owned by the program, valid until it is released; text ends with a NUL, which
 *             size does not count
 * @param[out] size in bytes
 */
GPUKERN_API gpukern_status gpukern_program_get(gpukern_program *program, gpukern_program_part part,
                                               const void **data, size_t *size);

/**
 * @brief Returns the lowered (mangled) name of a name expression, as it appears in PTX.
 * @param[in] program from gpukern_program_compile()
 * @param[in] name one of the program's name expressions
 * @param[out] lowered_name owned by the program, valid until it is released
 * @return GPUKERN_VALUE_ERROR for any other name
 */
GPUKERN_API gpukern_status gpukern_program_lowered_name(gpukern_program *program, const char *name,
                                                        const char **lowered_name);

/**
 * @brief Returns the complete NVRTC log of the calling thread's last gpukern_program_compile() that
 *        failed with GPUKERN_COMPILE_ERROR.
 * @param[out] log NUL-terminated UTF-8, "" if there was none; owned by the library, valid until the
 *             thread's next failing compile
 */
GPUKERN_API gpukern_status gpukern_compile_log(const char **log);

/* ---- kernels -------------------------------------------------------------------------------- */

/**
 * @brief Loads a kernel on a device.
 *
 * The first kernel of a program on a device loads the program's module in the device's primary
 * context; the caller's current context is preserved.
 *
 * @param[in] program from gpukern_program_compile()
 * @param[in] name of an extern "C" kernel, one of the program's name expressions, or a mangled name
 * @param[in] device a CUDA ordinal
 * @param[out] kernel release with gpukern_kernel_release(); NULL on failure
 * @return GPUKERN_VALUE_ERROR if the program has no such kernel, or its code does not run on the
 *         device; GPUKERN_DEVICE_ERROR if there is no such device
 */
GPUKERN_API gpukern_status gpukern_program_kernel(gpukern_program *program, const char *name,
                                                  int32_t device, gpukern_kernel **kernel);

/**
 * @brief Releases a kernel. A CUDA graph that captured a launch remains valid.
 *
 * The module is unloaded with the last kernel and handle of a program that is no longer cached in
 * memory.
 *
 * @param[in] kernel may be NULL
 */
GPUKERN_API gpukern_status gpukern_kernel_release(gpukern_kernel *kernel);

/** Properties of a kernel on its device. */
typedef struct gpukern_kernel_info {
  size_t struct_size; /**< [in] sizeof(gpukern_kernel_info) */
  int32_t parameter_count;
  int32_t max_threads_per_block;
  int32_t registers; /**< of each thread */
  uint64_t static_shared_bytes;
  uint64_t max_dynamic_shared_bytes; /**< the limit of a launch */
  uint64_t local_bytes;              /**< of each thread: spilled registers and local arrays */
  int32_t preferred_block;           /**< threads of a block for the best occupancy */
  int32_t device;                    /**< the CUDA ordinal */
} gpukern_kernel_info;

/**
 * @brief Reads the properties of a kernel.
 * @param[in] kernel from gpukern_program_kernel()
 * @param[in,out] info set its struct_size first
 */
GPUKERN_API gpukern_status gpukern_kernel_query(const gpukern_kernel *kernel,
                                                gpukern_kernel_info *info);

/**
 * @brief Reads the offset and the size of a kernel parameter.
 * @param[in] kernel from gpukern_program_kernel()
 * @param[in] i in [0, parameter_count)
 * @param[out] offset in bytes; may be NULL
 * @param[out] bytes may be NULL
 */
GPUKERN_API gpukern_status gpukern_kernel_parameter(const gpukern_kernel *kernel, int32_t i,
                                                    size_t *offset, size_t *bytes);

/** The shape of a launch. */
typedef struct gpukern_launch {
  size_t struct_size;    /**< sizeof(gpukern_launch) */
  uint32_t grid[3];      /**< blocks along x, y, z: at most 2^31 - 1, 65535, 65535 */
  uint32_t block[3];     /**< threads of a block along x, y, z: at most 1024, 1024, 64 */
  uint64_t shared_bytes; /**< dynamic shared memory of a block */
  int32_t cooperative;   /**< 1: all blocks are resident together and may wait for each other */
  /**
   * 1: the kernel may start while the previous one of the stream still runs, if that lets it by
   * griddepcontrol.launch_dependents, as saxpy and element-wise functions do, else when all of its
   * threads have ended (programmatic dependent launch). Their writes need not be visible
   * before the wait. Every thread has to begin with asm volatile("griddepcontrol.wait;" :::
   * "memory"), also one that has nothing to do: a grid in which no thread waits may end before the
   * one it follows. Code for compute capabilities below 9.0, which have no such instruction, waits
   * in any case. Not with cooperative.
   */
  int32_t programmatic_launch;
} gpukern_launch;

#define GPUKERN_LAUNCH_INIT {sizeof(gpukern_launch), {1, 1, 1}, {1, 1, 1}, 0, 0, 0}

/**
 * @brief Enqueues a kernel.
 *
 * All checks are made before the launch: a call that fails with GPUKERN_VALUE_ERROR or
 * GPUKERN_TYPE_ERROR has launched nothing and leaves the context usable. The caller is responsible
 * for what the kernel does with its arguments. Dynamic shared memory above 48 KiB needs no further
 * call. A grid with a dimension of 0 launches nothing, and succeeds.
 *
 * Stream behaviour: enqueues on exec->stream, also into a CUDA graph that the stream captures.
 *
 * @param[in] kernel from gpukern_program_kernel()
 * @param[in] launch set its struct_size first (GPUKERN_LAUNCH_INIT does)
 * @param[in] arguments pointers to the values, read before the call returns; NULL if there are none
 * @param[in] argument_bytes the sizes of the values, compared with the kernel's parameters
 * @param[in] argument_count compared with the number of the kernel's parameters
 * @param[in] exec may be NULL; a device there must be the kernel's
 * @return GPUKERN_TYPE_ERROR for a wrong number or size of arguments; GPUKERN_VALUE_ERROR for a
 *         grid, block or shared_bytes beyond a limit, naming it; GPUKERN_CONTEXT_LOST if an
 *         earlier kernel trapped or accessed memory out of bounds
 */
GPUKERN_API gpukern_status gpukern_kernel_launch(const gpukern_kernel *kernel,
                                                 const gpukern_launch *launch,
                                                 const void *const *arguments,
                                                 const size_t *argument_bytes,
                                                 size_t argument_count, const gpukern_exec *exec);

/* ---- the cache of compiled programs, and NVRTC ---------------------------------------------- */

/**
 * @brief The cache of compiled programs.
 *
 * The key of a program is its source, name, options, headers, name expressions and
 * architecture, NVRTC with its version and CUDA headers, and gpukern's version. A process caches up
 * to 1024 programs in memory. On disk they are files of
 * - $GPUKERN_CACHE_DIR, where "~/" at the beginning is $HOME; "" and "off" turn the disk cache off;
 * - else $XDG_CACHE_HOME/gpukern, else ~/.cache/gpukern,
 * a directory of mode 0700. One that belongs to another user or that others may write to is not
 * used, nor is one that is read-only or full: programs are then compiled without an error. An entry
 * is one file with a SHA-256 checksum, written atomically. $GPUKERN_CACHE_LIMIT
 * bounds the files together, in bytes (256 MiB without it); the least recently used go first.
 * Changes to these variables take effect with gpukern_reload_environment().
 *
 * Not cached: programs whose options name files or directories (-I, -include, precompiled headers),
 * that include a file by its absolute path, or that use the date or time.
 */
typedef struct gpukern_cache_info {
  size_t struct_size;   /**< [in] sizeof(gpukern_cache_info) */
  uint64_t memory_hits; /**< of this process, like the next three */
  uint64_t disk_hits;
  uint64_t misses;   /**< programs that NVRTC compiled or failed to compile */
  uint64_t rejected; /**< damaged or foreign entries on disk; they were compiled again */
  uint64_t entries;  /**< files on disk now */
  uint64_t bytes;    /**< of these files */
  uint64_t limit_bytes;
  const char *directory; /**< "" if there is no disk cache; valid until the thread's next query */
} gpukern_cache_info;

/**
 * @brief Describes the cache.
 * @param[in,out] info set its struct_size first
 */
GPUKERN_API gpukern_status gpukern_cache_query(gpukern_cache_info *info);

/** @brief Empties the cache in memory and on disk and sets the counters to 0. */
GPUKERN_API gpukern_status gpukern_cache_clear(void);

/**
 * @brief Adds a directory to search for NVRTC and the CUDA headers: the root of a toolkit, such as
 *        site-packages/nvidia/cu13.
 *
 * Has no effect on files that were found before. Directories are searched in the order of the
 * calls.
 *
 * @param[in] directory need not exist
 */
GPUKERN_API gpukern_status gpukern_nvrtc_search(const char *directory);

/**
 * @brief Describes NVRTC, opening it if necessary. Succeeds without NVRTC.
 * @param[out] version such as 13000; 0 without NVRTC. May be NULL, like the next two.
 * @param[out] path of the library, "" without it; owned by gpukern
 * @param[out] reason why version is 0, "" if it is not; valid until the thread's next query
 */
GPUKERN_API gpukern_status gpukern_nvrtc_query(int32_t *version, const char **path,
                                               const char **reason);

#ifdef __cplusplus
}
#endif

#endif /* GPUKERN_PROGRAM_H */
