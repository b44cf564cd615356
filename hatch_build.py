"""Compiles the optional C extension while the package is built or installed; without a compiler it is left out.

``BLOCKML_PURE=1`` in the environment leaves it out as well.
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
    """Puts the compiled extension into the wheel, or beside its sources where the package is installed in place."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002 (hatchling's signature)
        """Compile; a failure is a warning."""
        if self.target_name != "wheel" or os.environ.get("BLOCKML_PURE", "0") not in {"", "0"}:
            return
        try:
            built = compiled(Path(self.root))
            tag = wheel_tag(Path(self.root) / KERNEL)
        except Exception as error:  # noqa: BLE001 (whatever a compiler may do, the Python code remains)
            self.app.display_warning(f"the C extension was not compiled, extraction is slower without it: {error}")
            return
        build_data["pure_python"] = False
        build_data["tag"] = tag
        build_data["artifacts"].append(built.relative_to(self.root).as_posix())


def is_free_threaded() -> bool:
    """Tell whether the interpreter that builds has no global lock: it has no limited API either."""
    return bool(sysconfig.get_config_var("Py_GIL_DISABLED"))


def wheel_tag(folder: Path) -> str:
    """Return the tag of a wheel that holds the extension in ``folder``, for the interpreter that builds.

    The platform is what setuptools finds: on macOS the version that the compiled file needs, on Linux plain
    ``linux_…``, which auditwheel turns into manylinux or musllinux.
    """
    from setuptools.command.bdist_wheel import get_platform

    platform = get_platform(str(folder)).replace("-", "_").replace(".", "_")
    if is_free_threaded():
        version = f"cp{sys.version_info.major}{sys.version_info.minor}"
        return f"{version}-{version}t-{platform}"
    return f"{ABI_TAG}-{platform}"


def compiled(root: Path, output: Path | None = None, flags: tuple[str, ...] = ()) -> Path:
    """Compile the extension and return the file.

    Parameters
    ----------
    root
        The checkout.
    output
        Folder for the file and what the compiler leaves; in place by default.
    flags
        More arguments for compiler and linker.
    """
    from setuptools import Distribution, Extension
    from setuptools.command.build_ext import build_ext

    limited = not is_free_threaded()
    # Products and sums are rounded one by one, as numpy rounds them, also where a machine could do both at once.
    # Names are the extension's own: another library may have a function of the same name.
    own = ("/std:c11",) if os.name == "nt" else ("-O3", "-ffp-contract=off", "-fvisibility=hidden")
    extension = Extension(
        MODULE,
        [source.relative_to(root).as_posix() for source in sorted((root / KERNEL).glob("*.c"))],
        depends=[header.relative_to(root).as_posix() for header in sorted((root / KERNEL).glob("*.h"))],
        define_macros=[("Py_LIMITED_API", LIMITED_API)] if limited else [],
        extra_compile_args=[*own, *flags],
        extra_link_args=list(flags),
        py_limited_api=limited,
    )
    before = Path.cwd()
    os.chdir(root)  # the compiler's command lines name files from here
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
