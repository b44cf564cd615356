"""Tag, package and changelog of a release must agree; workflows call targets that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tools import release

ROOT = Path(__file__).parents[2]
CHANGELOG = "# Changelog\n\n## Unreleased\n\n## 0.2.0 (2027-01-01)\n\n- Cats\n\n## 0.1.0\n\n- Dogs\n"


def test_notes_of_a_version() -> None:
    """The section of a version is found with or without a date, up to the next heading."""
    assert release.notes(CHANGELOG, "0.2.0") == "- Cats\n"
    assert release.notes(CHANGELOG, "0.1.0") == "- Dogs\n"


@pytest.mark.parametrize("version", ["0.3.0", "Unreleased", "0.1"])
def test_missing_or_empty_notes_are_refused(version: str) -> None:
    """A version without notes is not released."""
    with pytest.raises(ValueError, match="no notes for"):
        release.notes(CHANGELOG, version)


def _project(folder: Path, version: str) -> None:
    (folder / "blockml").mkdir()
    (folder / "blockml/__init__.py").write_text(f'__version__ = "{version}"\n', encoding="utf-8")
    (folder / "CITATION.cff").write_text(f"cff-version: 1.2.0\nversion: {version}\n", encoding="utf-8")
    (folder / "CHANGELOG.md").write_text(CHANGELOG, encoding="utf-8")


def test_a_tag_of_the_package_is_accepted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A tag that agrees with the package and a section of the changelog is accepted, and its notes are printed."""
    _project(tmp_path, "0.2.0")
    monkeypatch.setattr(release, "ROOT", tmp_path)
    assert release.main(["check", "v0.2.0"]) == 0
    assert release.main(["notes", "v0.2.0"]) == 0
    assert capsys.readouterr().out == "- Cats\n"


@pytest.mark.parametrize(("tag", "message"), [("v0.1.0", "blockml/__init__.py names 0.2.0"), ("v9", "no notes for 9")])
def test_another_tag_is_refused(
    tag: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A tag of another version gives exit code 1 and the reason."""
    _project(tmp_path, "0.2.0")
    monkeypatch.setattr(release, "ROOT", tmp_path)
    assert release.main(["check", tag]) == 1
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("version", "message"), [("0.1.0", "CITATION.cff names 0.1.0"), ("", "CITATION.cff names no version")]
)
def test_another_version_in_the_citation_is_refused(
    version: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A citation of another version, or of none, gives exit code 1 and the reason."""
    _project(tmp_path, "0.2.0")
    (tmp_path / "CITATION.cff").write_text(f"version: {version}\n", encoding="utf-8")
    monkeypatch.setattr(release, "ROOT", tmp_path)
    assert release.main(["check", "v0.2.0"]) == 1
    assert message in capsys.readouterr().err


def test_workflows_call_targets_and_scripts_that_exist() -> None:
    """Each ``make TARGET`` and each Python script of a workflow exists in the checkout."""
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    workflows = list((ROOT / ".github/workflows").glob("*.yml"))
    steps = "\n".join(path.read_text(encoding="utf-8") for path in workflows)
    called = set(re.findall(r"\bmake ([a-z-]+)", steps))
    assert len(workflows) == 4
    assert called
    assert called <= targets
    scripts = re.findall(r"python3? (\S+\.py)", steps)
    assert scripts
    assert [script for script in scripts if not (ROOT / script).exists()] == []
