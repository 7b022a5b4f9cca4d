# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

class ThreadShare:
    count: int
    def __init__(self, wanted: int) -> None: ...
    def give_back(self) -> None: ...
