"""A full disk, a folder without permission and a kill leave the old file unchanged, for every writer."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.skipif(os.name == "nt", reason="needs limits and signals of POSIX")

#: Statements that write the file ``path``, by kind of file.
WRITERS = {
    "model": "from blockml.model.model_file import load_model, save_model\n"
    "save_model(load_model('models/kim2013.blockml'), path)",
    "site template": "import blockml\nfrom blockml.templates import SiteTemplate\n"
    "SiteTemplate.learn([blockml.parse(f'<p>Cats<p>{word} rule.') for word in ('One', 'Two', 'Six')]).save(path)",
    "labels": "from blockml.datasets import write_labels\nwrite_labels(path, ['Cats rule. '] * 99, [None] * 99)",
    "page": "from blockml.cli import main\n"
    "code = main(['extract', 'data/pages/short-article/page.html', '--format', 'json', '-o', str(path)])",
    "predictions": "from blockml.cli import main\n"
    "code = main(['predict', 'data/pages', '--quiet', '--overwrite', '-o', str(path)])",
    "page texts": "from blockml.cli import main\n"
    "code = main(['predict', 'data/pages/short-article', '--quiet', '--overwrite', '-o', str(path) + '/'])",
    "report": "from blockml.cli import main\n"
    "code = main(['view', 'data/pages/short-article/page.html', '-o', str(path)])",
    "comparison": "from blockml.evaluation.comparison import Store\n"
    "store = Store(path.parent)\nrows = [{'id': str(i), 'text': 'Cats rule.'} for i in range(99)]\n"
    "store.write('outputs', 'news', 'plain', rows, {'version': '1'})",
}
#: Statements before the writer that make it fail.
FAULTS = {
    # The disk is full after the first bytes; Python ignores the signal, so that writing fails.
    "full": "import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, (100, resource.RLIM_INFINITY))",
    "no permission": "import errno, pathlib\ndef refuse(self, *_, **__):\n"
    "    raise PermissionError(errno.EACCES, 'Permission denied', str(self))\n"
    "def opened(self, mode='r', *rest, **options):\n"
    "    return refuse(self) if 'x' in mode or 'w' in mode else given(self, mode, *rest, **options)\n"
    "given, pathlib.Path.open = pathlib.Path.open, opened\npathlib.Path.mkdir = refuse",
    "killed": "import os, pathlib, signal\n"
    "pathlib.Path.replace = lambda *_: os.kill(os.getpid(), signal.SIGKILL)\nos.replace = pathlib.Path.replace",
}


def run(path: Path, writer: str, fault: str = "") -> subprocess.CompletedProcess[str]:
    """Write a file in a separate process."""
    code = (
        f"import pathlib, sys\nimport blockml.cli\npath, code = pathlib.Path({str(path)!r}), 0\n{fault}\n"
        f"try:\n    exec({writer!r})\nexcept OSError as error:\n    print(repr(error), file=sys.stderr)\n    code = 9\n"
        "sys.exit(code)"
    )
    return subprocess.run(  # noqa: S603 (our own code)
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=ROOT
    )


def output(folder: Path, writer: str) -> Path:
    """Return the file that a writer writes; those of a comparison and of pages are inside a folder."""
    places = {"comparison": "outputs/news/plain.jsonl.gz", "page texts": "output.jsonl/short-article.txt"}
    return folder / places.get(writer, "output.jsonl")


@pytest.mark.exhaustive
@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("writer", WRITERS)
def test_a_fault_leaves_the_old_file(tmp_path: Path, writer: str, fault: str) -> None:
    """The process reports the error or is killed, and the old file is unchanged."""
    path = output(tmp_path, writer)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"old")
    given = tmp_path / "output.jsonl"
    done = run(given, WRITERS[writer], FAULTS[fault])
    assert path.read_bytes() == b"old"
    if fault == "killed":
        assert done.returncode == -signal.SIGKILL
        done = run(given, WRITERS[writer])  # files left behind are not in the way
        assert done.returncode == 0, done.stderr
        assert len(path.read_bytes()) > 100
        return
    assert done.returncode not in {0, -signal.SIGXFSZ}
    assert {"full": "File too large", "no permission": "Permission denied"}[fault] in done.stderr
    assert "Traceback" not in done.stderr
    assert not list(tmp_path.rglob("*.part"))


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="permissions don't bind root")
def test_a_folder_without_permission(tmp_path: Path) -> None:
    """In a folder without permission, writing fails with an error that names the file, which is unchanged."""
    path = tmp_path / "output.jsonl"
    path.write_bytes(b"old")
    tmp_path.chmod(0o555)
    try:
        done = run(path, WRITERS["page"])
    finally:
        tmp_path.chmod(0o755)
    assert (done.returncode, path.read_bytes()) == (2, b"old")
    assert str(path) in done.stderr
