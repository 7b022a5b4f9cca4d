#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

# Builds and runs every example against an installed prefix, the installed Python package and a
# subproject, through find_package and pkg-config. Prints a line per example; stops at the
# first failure and shows its output. Needs no network.
#
#   VENV=.venv      a virtual environment with gpukern, Cython and pytest; the examples for
#                   PyTorch, JAX and CuPy run if it contains these
#   CUDA=AUTO       the setting of the CMake build to install, if there is no PREFIX
#   PREFIX=         an installed prefix
#   WAYS=all        or package: against the installed Python package only
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"

VENV=${VENV:-.venv}
CUDA=${CUDA:-AUTO}
CC=${CC:-cc}
CXX=${CXX:-c++}
python=$(cd "$VENV/bin" && pwd)/python
export PATH="${python%/*}:$PATH"
unset CMAKE_PREFIX_PATH PKG_CONFIG_PATH LD_LIBRARY_PATH

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
log=$work/log

# Runs a command and shows its output only if it fails.
quietly() {
  "$@" > "$log" 2>&1 || {
    cat "$log" >&2
    echo "FAILED: $*" >&2
    exit 1
  }
}

# report WAY EXAMPLE RESULT
report() { printf '%-28s %-16s %s\n' "$@"; }

# run WAY EXAMPLE COMMAND...: runs an example and reports where it computed, or why it was skipped.
run() {
  local way=$1 example=$2 skipped
  shift 2
  quietly "$@"
  if skipped=$(grep '^skipped: ' "$log"); then
    report "$way" "$example" "$skipped"
    return
  fi
  report "$way" "$example" "ok on $(sed -n 's/^\(CPU\|GPU [^:]*\).*:$/\1/p' "$log" |
    paste -sd '+' | sed 's/+/ and /g')"
}

# require_library PROGRAM FOLDER: the program must load the libgpukern of that folder.
require_library() {
  local loaded
  loaded=$(ldd "$1" | sed -n 's/.*libgpukern\.so[.0-9]* => \(.*\) (.*/\1/p')
  [[ -n $loaded && $(realpath "$loaded") == "$(realpath "$2/libgpukern.so")" ]] || {
    echo "FAILED: $1 loads '${loaded:-nothing}', not the library in $2" >&2
    exit 1
  }
}

# require_text FILE TEXT: the file must have this line.
require_text() {
  grep --quiet --fixed-strings --line-regexp -- "$2" "$1" || {
    echo "FAILED: $1 has no line '$2'" >&2
    exit 1
  }
}

# find_package_way WAY LIBRARY_FOLDER CMAKE_ARGUMENT; no folder for a static library
find_package_way() {
  local build=$work/find_package
  rm -rf "$build"
  quietly cmake -S examples -B "$build" "$3"
  quietly cmake --build "$build"
  run "$1, find_package" c_linked "$build/c_linked/c_linked"
  run "$1, find_package" cpp "$build/cpp/cpp"
  run "$1, find_package" graph_features "$build/graph_features/graph_features"
  run "$1, find_package" saxpy_by_hand "$build/saxpy_by_hand/saxpy_by_hand"
  [[ -n $2 ]] || return 0
  require_library "$build/c_linked/c_linked" "$2"
  run "$1, find_package" c_dlopen env LD_LIBRARY_PATH="$2" "$build/c_dlopen/c_dlopen"
  run "$1, find_package" c_hello env LD_LIBRARY_PATH="$2" "$build/c_hello/c_hello"
}

# pkg_config_way WAY LIBRARY_FOLDER
pkg_config_way() {
  local build=$work/pkg_config cflags libs rpath="-Wl,-rpath,$2"
  if ! command -v pkg-config > /dev/null; then
    echo "$1, pkg-config: skipped, pkg-config is not installed"
    return
  fi
  mkdir -p "$build"
  read -ra cflags <<< "$(PKG_CONFIG_PATH=$2/pkgconfig pkg-config --cflags gpukern)"
  read -ra libs <<< "$(PKG_CONFIG_PATH=$2/pkgconfig pkg-config --libs gpukern)"
  quietly "$CC" -std=c99 "${cflags[@]}" examples/c_linked/main.c "${libs[@]}" "$rpath" \
    -o "$build/c_linked"
  quietly "$CC" -std=c99 "${cflags[@]}" examples/c_dlopen/main.c -ldl -o "$build/c_dlopen"
  quietly "$CXX" -std=c++20 "${cflags[@]}" examples/cpp/main.cpp "${libs[@]}" "$rpath" \
    -o "$build/cpp"
  run "$1, pkg-config" c_linked "$build/c_linked"
  run "$1, pkg-config" cpp "$build/cpp"
  [[ -e $2/libgpukern.so ]] || return 0
  require_library "$build/c_linked" "$2"
  run "$1, pkg-config" c_dlopen "$build/c_dlopen" "$2/libgpukern.so"
}

# Builds the Cython extension like any package that uses the installed gpukern, and runs its tests.
cython_extension() {
  local source=$work/cython_extension site=$work/site own
  # Python's flags may name where its own library is.
  own=$("$python" -c 'import sysconfig; print(sysconfig.get_config_var("LIBDIR"))')
  cp -r examples/cython_extension "$source"
  quietly "$python" -m pip --disable-pip-version-check install --no-build-isolation --no-index \
    --no-deps --target "$site" "$source"
  if readelf --dynamic "$site"/gpukern_bags/*.so | grep -E 'R(UN)?PATH' |
    grep -vF "[$own]" >&2; then
    echo "FAILED: gpukern_bags names a directory of this machine" >&2
    exit 1
  fi
  quietly env PYTHONPATH="$site" "$python" -c "import gpukern_bags" # on its own
  quietly env PYTHONPATH="$site" "$python" -m pytest --quiet -p no:cacheprovider "$source"
  report package cython_extension "$(tail -n 1 "$log")"
}

# gpukern as a part of another project, which sets the build type, joins its source files and
# installs what it wants, and the static library that this one builds.
as_subproject() {
  local build=$work/subproject
  quietly cmake -S examples/subproject -B "$build" -DCMAKE_UNITY_BUILD=ON
  require_text "$build/CMakeCache.txt" CMAKE_BUILD_TYPE:STRING=
  quietly cmake --build "$build" --parallel "$(nproc)"
  run subproject cpp "$build/subproject"
  quietly cmake --install "$build" --prefix "$work/empty"
  [[ ! -e $work/empty ]] || { echo "FAILED: the subproject installs files" >&2; exit 1; }
  quietly cmake "$build" -DGPUKERN_INSTALL=ON
  quietly cmake --install "$build" --prefix "$work/static"
  find_package_way static "" "-DCMAKE_PREFIX_PATH=$work/static"
  pkg_config_way static "$(library_folder "$work/static" libgpukern.a)"
  # A project in C, which has no linker of C++.
  quietly cmake -S examples/c_linked -B "$work/static_c" "-DCMAKE_PREFIX_PATH=$work/static"
  quietly cmake --build "$work/static_c"
  run "static, C only" c_linked "$work/static_c/c_linked"
}

# library_folder PREFIX [LIBRARY]
library_folder() { dirname "$(find "$1" -name "${2:-libgpukern.so}" | head -n 1)"; }

# A static library for the CPU, as a subproject, and an installed prefix.
from_source() {
  as_subproject
  if [[ -z ${PREFIX:-} ]]; then
    PREFIX=$work/prefix
    quietly cmake -S . -B "$work/build" "-DGPUKERN_CUDA=$CUDA"
    quietly cmake --build "$work/build" --target gpukern --parallel "$(nproc)"
    quietly cmake --install "$work/build" --prefix "$PREFIX"
  fi
  PREFIX=$(realpath "$PREFIX")
  find_package_way prefix "$(library_folder "$PREFIX")" "-DCMAKE_PREFIX_PATH=$PREFIX"
  pkg_config_way prefix "$(library_folder "$PREFIX")"
}

[[ ${WAYS:-all} == package ]] || from_source

# From another folder, so that Python finds the installed package only.
ask() { (cd / && "$python" -c "import gpukern; print(gpukern.$1())"); }
find_package_way package "$(ask get_library_dir)" "-Dgpukern_DIR=$(ask get_cmake_dir)"
pkg_config_way package "$(ask get_library_dir)"
run package python "$python" examples/python/example.py
for program in hello gather graph_features/main saxpy_by_hand/main vector_add polynomial; do
  run package "$program" "$python" "examples/$program.py"
done
run package torch_autograd "$python" examples/torch_autograd.py
run package jax_callback "$python" examples/jax_callback.py
run package jax_ffi "$python" examples/jax_ffi/example.py
run package cupy_program "$python" examples/cupy_program.py
if command -v mpirun > /dev/null && "$python" -c "import mpi4py" 2> "$log"; then
  run package mpi_table env OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 \
    mpirun --oversubscribe -n 2 "$python" examples/distributed/mpi_table.py
else
  report package mpi_table "skipped: no mpirun or no mpi4py"
fi
run package dask_table "$python" examples/distributed/dask_table.py
run package gpu_table "$python" examples/distributed/gpu_table.py
cython_extension
echo "all examples ran"
