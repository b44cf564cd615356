"""Distribution: wheel tags, contents of archives, and installation hints."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tomllib
from pathlib import Path
from typing import Any

import pytest

import blockml
from blockml.errors import install_hint

ROOT = Path(__file__).parents[1]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


@pytest.fixture
def build() -> Any:
    """Return the build hook."""
    pytest.importorskip("hatchling", reason="needs hatchling, which builds the package")
    pytest.importorskip("setuptools", reason="needs setuptools, which compiles the extension")
    import hatch_build

    return hatch_build


@pytest.mark.parametrize(
    ("platform", "free_threaded", "tag"),
    [
        ("linux-x86_64", False, "cp311-abi3-linux_x86_64"),
        ("linux-aarch64", False, "cp311-abi3-linux_aarch64"),
        ("win-amd64", False, "cp311-abi3-win_amd64"),
        ("win-arm64", False, "cp311-abi3-win_arm64"),
        ("linux-x86_64", True, f"cp3{sys.version_info.minor}-cp3{sys.version_info.minor}t-linux_x86_64"),
    ],
)
def test_tags_are_those_of_the_interpreter(
    build: Any,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    platform: str,
    free_threaded: bool,  # noqa: FBT001
    tag: str,
) -> None:
    """A wheel with the limited API is tagged for all later versions; a free-threaded interpreter gets its own tag."""
    monkeypatch.setattr(sysconfig, "get_platform", lambda: platform)
    monkeypatch.setattr(build, "is_free_threaded", lambda: free_threaded)
    if platform == "linux-x86_64" and sys.maxsize < 2**32:
        pytest.skip("setuptools names 32-bit builds otherwise")
    assert build.wheel_tag(tmp_path) == tag


def test_type_information_is_shipped() -> None:
    """The package has py.typed, so that users' type checkers read its annotations."""
    assert (Path(blockml.__file__).parent / "py.typed").is_file()


def test_hints_install_from_the_checkout() -> None:
    """No hint installs the name ``blockml`` from the package index, which belongs to somebody else."""
    extras = PROJECT["project"]["optional-dependencies"]
    assert PROJECT["project"]["name"] == "blockml-extract"
    for extra in ("language", "report", "fast", "boost", "compare"):
        assert extra in extras
        assert install_hint(extra).endswith(f'pip install ".[{extra}]"')
    texts = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("blockml/**/*.py")]
    wrong = [path.name for path in texts if re.search(r"pip install .?blockml", path.read_text(encoding="utf-8"))]
    assert wrong == []


def test_one_wheel_is_built_for_each_platform() -> None:
    """One wheel for each platform is built by the oldest Python, and its limited API serves the others."""
    chosen = PROJECT["tool"]["cibuildwheel"]
    assert chosen["build"] == ["cp311-*"]
    assert set(chosen["linux"]["archs"]) == {"x86_64", "aarch64"}
    assert set(chosen["macos"]["archs"]) == {"x86_64", "arm64"}
    assert set(chosen["windows"]["archs"]) == {"AMD64", "ARM64"}


def test_wheels_are_reproducible(tmp_path: Path, build: Any) -> None:
    """Wheels from two copies of the checkout are identical, and no code specific to this machine is requested."""
    pytest.importorskip("build", reason="needs the package build")
    assert not re.search(r"-m(?:arch|cpu|tune|avx|fma)", Path(build.__file__).read_text(encoding="utf-8"))
    wheels = []
    for name in ("one", "another"):
        copy = tmp_path / name
        for part in ("blockml", "models", "pyproject.toml", "hatch_build.py", "README.md", "LICENSE"):
            if (ROOT / part).is_dir():
                shutil.copytree(ROOT / part, copy / part, ignore=shutil.ignore_patterns("*.so", "__pycache__"))
            else:
                shutil.copy(ROOT / part, copy / part)
        command = [
            sys.executable,
            "-m",
            "build",
            "--wheel",
            "--no-isolation",
            "--outdir",
            str(copy / "dist"),
            str(copy),
        ]
        done = subprocess.run(  # noqa: S603 (our own package)
            command, capture_output=True, text=True, check=False, env=os.environ | {"BLOCKML_PURE": "1"}
        )
        assert done.returncode == 0, done.stderr
        wheels += [wheel.read_bytes() for wheel in (copy / "dist").glob("*.whl")]
    assert len(wheels) == 2
    assert wheels[0] == wheels[1]


@pytest.mark.skipif(os.name == "nt", reason="needs gcc or clang")
def test_the_compiled_extension_is_reproducible(tmp_path: Path, build: Any) -> None:
    """The extension is identical when built in another folder, even with debugging information."""
    pytest.importorskip("setuptools", reason="needs setuptools")
    files = []
    for name in ("one", "another/folder"):
        kernel = tmp_path / name / "blockml" / "_kernel"
        kernel.mkdir(parents=True)
        sources = ROOT / "blockml" / "_kernel"
        for part in (*sources.glob("*.h"), sources / "features_factorize.c", sources / "predictors_log_odds.c"):
            shutil.copy(part, kernel)
        try:
            files.append(build.compiled(tmp_path / name, flags=("-g",)).read_bytes())
        except Exception as error:  # noqa: BLE001 (compilers fail in many ways)
            pytest.skip(f"needs a compiler: {error}")
    assert files[0] == files[1]
    assert str(tmp_path).encode() not in files[0]
