"""Small pages modelled on public bug reports of extractors, with their correct outputs (CC0)."""

from pathlib import Path

FOLDER = Path(__file__).parent / "reported_pages"


def reported(name: str) -> tuple[bytes, str]:
    """Return a page by the start of its name, and its correct output."""
    (path,) = FOLDER.glob(f"{name}-*.html")
    return path.read_bytes(), path.with_suffix(".expected.txt").read_text("utf-8")
