# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0
"""Renders the conda recipe with rattler-build, as conda-forge would: with and without CUDA."""

import sys
from pathlib import Path

from rattler_build import Stage0Recipe, VariantConfig

RECIPE = Path(__file__).resolve().parent.parent / "recipe" / "recipe.yaml"
# Of conda-forge's pinnings, what the recipe uses.
VARIANTS = {
    "c_compiler": ["gcc"],
    "cxx_compiler": ["gxx"],
    "cuda_compiler": ["cuda-nvcc"],
    "cuda_compiler_version": ["None", "13.0"],
    "c_stdlib": ["sysroot"],
    "c_stdlib_version": ["2.28"],
    "python": ["3.12.*", "3.14.*"],
}


def main():
    """Render, and return the exit status."""
    rendered = Stage0Recipe.from_file(RECIPE).render(VariantConfig(VARIANTS))
    packages = [variant.recipe.to_dict() for variant in rendered]
    scripts = {RECIPE.parent / package["build"]["script"] for package in packages}
    found = [f"{path} does not exist" for path in scripts if not path.is_file()]
    if len({package["build"]["string"] for package in packages}) != 4:
        found.append("there are not four packages, of two Pythons with and without CUDA")
    print(*(f"recipe: {problem}" for problem in found), sep="\n", end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
