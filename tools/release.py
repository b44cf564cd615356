"""Checks a release's tag and prints its notes.

``python tools/release.py check v0.1.0`` fails unless package, changelog and ``CITATION.cff`` name that version;
``python tools/release.py notes v0.1.0`` prints its section of the changelog.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


#: Files that name the version, and how.
VERSIONS = {"blockml/__init__.py": r'^__version__ = "([^"]+)"$', "CITATION.cff": r"^version: (\S+)$"}


def version_of(source: str, pattern: str) -> str:
    """Return the version in the source of a file; empty if it names none.

    >>> version_of('__version__ = "0.1.0"', VERSIONS["blockml/__init__.py"])
    '0.1.0'
    """
    found = re.search(pattern, source, re.MULTILINE)
    return found[1] if found else ""


def notes(changelog: str, version: str) -> str:
    """Return the section of a version in a changelog, without its heading.

    Raises
    ------
    ValueError
        The changelog has no section for the version, or an empty one.

    Examples
    --------
    >>> notes("# Changelog\\n\\n## 0.2.0\\n\\n- Cats\\n\\n## 0.1.0\\n\\n- Dogs\\n", "0.2.0")
    '- Cats\\n'
    """
    sections = re.split(r"^## (.+)$", changelog, flags=re.MULTILINE)
    for heading, text in zip(sections[1::2], sections[2::2], strict=True):
        if heading.split()[0].strip("[]") == version and text.strip():
            return text.strip() + "\n"
    raise ValueError(f"CHANGELOG.md has no notes for {version}")


def main(arguments: list[str] | None = None) -> int:
    """Run the command and return its exit code: 0, or 1 if tag, package, changelog and citation differ."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=("check", "notes"))
    parser.add_argument("tag", help="such as v0.1.0")
    options = parser.parse_args(arguments)
    version = options.tag.removeprefix("v")
    try:
        text = notes((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), version)
    except ValueError as error:
        print(error, file=sys.stderr)
        return 1
    for name, pattern in VERSIONS.items():
        if (found := version_of((ROOT / name).read_text(encoding="utf-8"), pattern)) != version:
            print(f"the tag names {version}, but {name} names {found or 'no version'}", file=sys.stderr)
            return 1
    if options.action == "notes":
        print(text, end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
