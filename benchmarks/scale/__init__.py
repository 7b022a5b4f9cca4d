# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""Tables over several GPUs of a host: ``make bench-scale``. Needs torch.

All GPUs gather at once, by indices into the whole table, in one process and in one process for
each GPU. Beside gpukern: bulk copies by the GPU that gathers, pushes by the GPU that has the rows,
torch with NCCL's all-to-all, one GPU alone, and copies between GPUs. Each result is checked.
"""
