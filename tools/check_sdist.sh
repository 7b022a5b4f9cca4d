#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

# Makes an sdist, and builds and tries it as recipe/build.sh does: in an environment that has the
# build requirements, without a network where the kernel allows to take it away.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
work=$PWD/build/sdist

rm -rf "$work"
mkdir -p "$work/sources"
"$PYTHON" -m venv "$work/venv"
export PATH=$work/venv/bin:$PATH PYTHON=$work/venv/bin/python
tools=$(GPUKERN_CUDA=OFF "$PYTHON" build_backend/gpukern_toolchain.py)
mapfile -t requirements <<< "$tools"
"$PYTHON" -m pip --disable-pip-version-check install --quiet "${requirements[@]}"

PYTHONPATH=build_backend "$PYTHON" -c "import gpukern_build; gpukern_build.build_sdist('$work')" \
  > "$work/sdist.log"
tar -xzf "$work"/gpukern-*.tar.gz -C "$work/sources" --strip-components=1

offline=(unshare --map-root-user --net)
if ! "${offline[@]}" true 2> /dev/null; then
  echo "check-sdist: this machine does not allow to take the network away"
  offline=()
fi
(cd "$work/sources" && "${offline[@]}" recipe/build.sh) > "$work/build.log" 2>&1 || {
  tail -50 "$work/build.log"
  exit 1
}
cd "$work" # so that the package is imported from the environment
"${offline[@]}" "$PYTHON" -m gpukern info
"${offline[@]}" "$PYTHON" -m gpukern demo
echo "check-sdist: $(basename gpukern-*.tar.gz) builds and runs"
