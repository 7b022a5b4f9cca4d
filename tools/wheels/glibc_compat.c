/* SPDX-FileCopyrightText: 2026 The gpukern authors
 * SPDX-License-Identifier: Apache-2.0 */

/* libstdc++.a of a newer distribution reads this flag of glibc 2.32. Zero means that the process
 * may have several threads, which is always right. */
__attribute__((visibility("hidden"))) char __libc_single_threaded = 0;
