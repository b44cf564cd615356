"""Build hook of hatchling that compiles the optional C extension.

The extension is left out if there is no compiler, or if the environment has ``BLOCKML_PURE=1``.
"""

from __future__ import annotations

import os
import sys
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

KERNEL = Path("blockml/_kernel")
MODULE = "blockml._kernel._compiled"
#: Python 3.11's limited API: one build serves all later versions.
LIMITED_API, ABI_TAG = "0x030b0000", "cp311-abi3"


class Kernel(BuildHookInterface):  # type: ignore[type-arg, misc, unused-ignore]  # hatchling may be missing
    """Add the compiled extension to the wheel, or put it next to its sources for an editable install."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002 (hatchling's signature)
        """Compile; a failure is a warning."""
        if self.target_name != "wheel" or os.environ.get("BLOCKML_PURE", "0") not in {"", "0"}:
            return
        try:
            built = compiled(Path(self.root))
            tag = wheel_tag(Path(self.root) / KERNEL)
        except Exception as error:  # noqa: BLE001 (compilers fail in many ways; the Python code works without the extension)
            self.app.display_warning(f"the C extension was not compiled, extraction is slower without it: {error}")
            return
        build_data["pure_python"] = False
        build_data["tag"] = tag
        build_data["artifacts"].append(built.relative_to(self.root).as_posix())


def is_free_threaded() -> bool:
    """Tell whether the interpreter that builds is free-threaded; such interpreters have no limited API."""
    return bool(sysconfig.get_config_var("Py_GIL_DISABLED"))


def wheel_tag(folder: Path) -> str:
    """Return the tag of a wheel that contains the extension in ``folder``, for the interpreter that builds.

    setuptools determines the platform: on macOS the minimum version of the compiled file, on Linux ``linux_…``, which
    auditwheel replaces by manylinux or musllinux.
    """
    from setuptools.command.bdist_wheel import get_platform

    platform = get_platform(str(folder)).replace("-", "_").replace(".", "_")
    if is_free_threaded():
        version = f"cp{sys.version_info.major}{sys.version_info.minor}"
        return f"{version}-{version}t-{platform}"
    return f"{ABI_TAG}-{platform}"


def compiled(root: Path, output: Path | None = None, flags: tuple[str, ...] = ()) -> Path:
    """Compile the extension and return its file.

    Parameters
    ----------
    root
        The checkout.
    output
        Folder for the file and temporary files; by default the file is put next to its sources.
    flags
        Additional arguments of compiler and linker.
    """
    from setuptools import Distribution, Extension
    from setuptools.command.build_ext import build_ext

    limited = not is_free_threaded()
    # -ffp-contract=off: fused multiply-add would round differently from numpy. -fvisibility=hidden: other libraries in
    # the process may have functions with the same names. -ffile-prefix-map: equal bytes wherever the folder is.
    own = ("-O3", "-ffp-contract=off", "-fvisibility=hidden", f"-ffile-prefix-map={root}=.")
    extension = Extension(
        MODULE,
        [source.relative_to(root).as_posix() for source in sorted((root / KERNEL).glob("*.c"))],
        depends=[header.relative_to(root).as_posix() for header in sorted((root / KERNEL).glob("*.h"))],
        define_macros=[("Py_LIMITED_API", LIMITED_API)] if limited else [],
        extra_compile_args=["/std:c11", *flags] if os.name == "nt" else [*own, *flags],
        extra_link_args=list(flags),
        py_limited_api=limited,
    )
    before = Path.cwd()
    os.chdir(root)  # sources have relative paths
    try:
        command = build_ext(Distribution({"name": "blockml", "ext_modules": [extension]}))
        command.inplace = output is None
        command.build_temp = "build" if output is None else str(output / "temp")
        if output is not None:
            command.build_lib = str(output)
        command.ensure_finalized()
        command.run()
        return root / str(command.get_ext_fullpath(MODULE))
    finally:
        os.chdir(before)
