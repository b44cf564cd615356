"""Compiles the kernel while the package is built or installed; without a compiler the package works all the same.

``BLOCKML_PURE=1`` in the environment leaves it out.
"""

from __future__ import annotations

import os
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

KERNEL = Path("blockml/_kernel")
MODULE = "blockml._kernel._compiled"
#: Python 3.11's limited API: one build serves all later versions.
LIMITED_API, TAG = "0x030b0000", "cp311-abi3"


class Kernel(BuildHookInterface):  # type: ignore[type-arg, misc, unused-ignore] (hatchling is no part of the package)
    """Puts the compiled kernel into the wheel, or beside its sources where the package is installed in place."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002 (hatchling's signature)
        """Compile; a failure is a warning."""
        if self.target_name != "wheel" or os.environ.get("BLOCKML_PURE", "0") not in {"", "0"}:
            return
        try:
            built = compiled(Path(self.root))
        except Exception as error:  # noqa: BLE001 (whatever a compiler may do, Python's own code remains)
            self.app.display_warning(f"the kernel was not compiled, extraction is slower without it: {error}")
            return
        platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data["pure_python"] = False
        build_data["tag"] = f"{TAG}-{platform}"
        build_data["artifacts"].append(built.relative_to(self.root).as_posix())


def compiled(root: Path) -> Path:
    """Compile the kernel in place; returns the file."""
    from setuptools import Distribution, Extension
    from setuptools.command.build_ext import build_ext

    sources = sorted((root / KERNEL).glob("*.c"))
    extension = Extension(
        MODULE,
        [source.relative_to(root).as_posix() for source in sources],
        depends=[header.relative_to(root).as_posix() for header in sorted((root / KERNEL).glob("*.h"))],
        define_macros=[("Py_LIMITED_API", LIMITED_API)],
        # Products and sums are rounded one by one, as numpy rounds them, also where a machine could do both at once.
        # Names are the kernel's own: another library may have a function of the same name.
        extra_compile_args=["/std:c11"] if os.name == "nt" else ["-O3", "-ffp-contract=off", "-fvisibility=hidden"],
        py_limited_api=True,
    )
    before = Path.cwd()
    os.chdir(root)  # the compiler's command lines name files from here
    try:
        command = build_ext(Distribution({"name": "blockml", "ext_modules": [extension]}))
        command.inplace = True
        command.build_temp = "build"
        command.ensure_finalized()
        command.run()
        return root / command.get_ext_fullpath(MODULE)
    finally:
        os.chdir(before)
