"""Training that would waste time or give a useless model is refused with the reason."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from blockml import extractors
from blockml.cli import main
from blockml.datasets import open_dataset
from blockml.errors import UnknownNameError, UsageError
from blockml.training import build_table, recipe, train_model

Output = pytest.CaptureFixture[str]
MENU = "<ul><li><a href=/>Home</a><li><a href=/a>About us</a><li><a href=/b>Contact</a></ul>"


def write_pages(folder: Path, n: int = 6, menu: str = MENU, meta: dict[str, str] | None = None) -> Path:
    """Write page folders whose content is four sentences, with a menu around them."""
    for page in range(n):
        sentences = [f"Sentence {i} of page {page} tells at length what the cats of the house did." for i in range(4)]
        own = folder / f"p{page}"
        own.mkdir(parents=True)
        (own / "page.html").write_text(menu + "".join(f"<p>{text}</p>" for text in sentences))
        (own / "expected.txt").write_text("\n".join(sentences))
        if meta:
            (own / "meta.json").write_text(json.dumps(meta))
    return folder


def trained(folder: Path, *options: str) -> int:
    """Train with the smallest recipe and return the exit code."""
    model = (folder if folder.is_dir() else folder.parent) / "m.blockml"
    return main(["train", "--dataset", str(folder), "-o", str(model), "--recipe", "kim2013", *options])


def test_a_folder_as_output_is_refused(tmp_path: Path, capsys: Output) -> None:
    """A folder as output is refused before training."""
    pages = write_pages(tmp_path / "pages")
    assert main(["train", "--dataset", str(pages), "-o", str(tmp_path)]) == 2
    shown = capsys.readouterr().err
    assert "is a folder; -o takes the model file" in shown
    assert "blocks to train on" not in shown


def test_outputs_that_cannot_be_written_are_refused(tmp_path: Path, capsys: Output) -> None:
    """A model or card that cannot be written is refused before training."""
    pages = write_pages(tmp_path / "pages")
    (tmp_path / "file").write_text("")
    (tmp_path / "m.blockml.md").mkdir()
    for options in ([], ["--base", "default"]):
        for name, words in (("file/m", "can't be written"), ("m.blockml", "m.blockml.md: is a folder")):
            assert main(["train", "--dataset", str(pages), "-o", str(tmp_path / name), *options]) == 2
            shown = capsys.readouterr().err
            assert words in shown
            assert "to train on" not in shown
            assert "measuring" not in shown
    assert {path.name for path in tmp_path.iterdir()} == {"pages", "file", "m.blockml.md"}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--folds", "1"], "at least 2 folds, got 1"),
        (["--recipe", "boosted", "--set", "learner=boosted", "--cv", "block"], "are tested on whole pages"),
        (["--recipe", "boosted"], "is trained with LightGBM"),
    ],
)
def test_calls_that_cannot_succeed_are_refused(
    options: list[str], words: str, tmp_path: Path, capsys: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Calls that cannot succeed are refused before any page is read."""
    pages = write_pages(tmp_path / "pages")
    for page in range(6):
        (pages / f"p{page}" / "page.html").unlink()
        (pages / f"p{page}" / "page.html.gz").write_bytes(b"damaged")
    monkeypatch.setitem(sys.modules, "lightgbm", None)
    assert trained(pages, *options) == 2
    assert words in capsys.readouterr().err
    with pytest.raises(UnknownNameError, match=r"'sites'; did you mean 'site'\? Or choose one of: block, page, site"):
        train_model([open_dataset(pages)], recipe("kim2013"), protocols=["sites"])


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="other systems don't have these names")
def test_names_that_are_not_utf8(tmp_path: Path) -> None:
    """Pages, folders and data sets may have any name that the system allows."""
    pages = write_pages(tmp_path / "cats\udce9", n=6)
    (pages / "p0").rename(pages / "p\udce9")
    assert trained(pages, "--cv", "page") == 0
    model = pages / "m.blockml"
    assert extractors.trained(str(model)).model.training[0]["name"] == "cats\udce9"
    assert main(["evaluate", str(model), "--dataset", str(pages), "-o", str(tmp_path / "scores.jsonl")]) == 0


@pytest.mark.exhaustive
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="finds processes by /proc")
def test_terminated_training_leaves_nothing(tmp_path: Path) -> None:
    """SIGTERM also ends the processes of cross-validation, and no file is left."""
    pages = write_pages(tmp_path / "pages", n=200)
    program = "import os, sys; os.cpu_count = lambda: 2; from blockml.cli import main; sys.exit(main())"
    command = ["train", "--dataset", str(pages), "-o", str(tmp_path / "m.blockml"), "--recipe", "kim2013"]
    command += ["--jobs", "2", "--cv", "page", "--folds", "200"]
    process = subprocess.Popen(  # noqa: S603 (our own program)
        [sys.executable, "-c", program, *command], stderr=subprocess.PIPE, text=True
    )
    with process:
        assert process.stderr is not None
        while "blocks to train on" not in process.stderr.readline():  # by then the workers have read the pages
            assert process.poll() is None
        time.sleep(0.2)
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text(encoding="ascii").split()
        process.terminate()
        assert process.wait(timeout=60) == 143
    assert len(children) >= 2
    for _ in range(1000):
        children = [child for child in children if _is_running(child)]
        time.sleep(0.01 if children else 0)
    assert children == []
    assert [path.name for path in tmp_path.iterdir()] == ["pages"]


def _is_running(process: str) -> bool:
    """Return whether a process exists and is not a zombie, which waits for its parent."""
    try:
        return Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_defective_gold_is_refused_unless_accepted(tmp_path: Path, capsys: Output) -> None:
    """Gold of other pages stops training unless it is accepted."""
    pages = write_pages(tmp_path / "pages")
    for page in range(3):
        (pages / f"p{page}" / "expected.txt").write_text("Nothing of this stands anywhere in the page beside it.")
    assert trained(pages, "--cv", "none") == 2
    assert "gold of 3 of 6 pages of pages is defective: missing words (3)" in capsys.readouterr().err
    assert trained(pages, "--cv", "none", "--accept-defects") == 0


def test_unfinished_pages_are_left_out(tmp_path: Path, capsys: Output) -> None:
    """Unfinished pages are left out and don't count as defects."""
    pages = write_pages(tmp_path / "pages", n=8)
    for page in range(4):
        (pages / f"p{page}" / "meta.json").write_text('{"flags": ["unfinished"]}')
    assert trained(pages, "--cv", "none") == 0
    assert "8 pages, 56 blocks" in (shown := capsys.readouterr().err)
    assert "28 blocks to train on" in shown
    for page in (4, 5):
        (pages / f"p{page}" / "expected.txt").write_text("Nothing of this stands anywhere in the page beside it.")
    with pytest.raises(UsageError, match=r"gold of 2 of 4 pages .* accept_defects=True trains on it anyway"):
        train_model([open_dataset(pages)], recipe("kim2013"), protocols=())
    with pytest.raises(UsageError, match="accept_defects=True trains on the other pages anyway"):
        train_model([open_dataset(pages)], recipe("default"), protocols=())
    for page in range(4, 8):
        (pages / f"p{page}" / "meta.json").write_text('{"flags": ["unfinished"]}')
    with pytest.raises(UsageError, match=r"no blocks to train on: .* or unfinished"):
        train_model([open_dataset(pages)], recipe("kim2013"), protocols=())


def test_names_of_data_sets(tmp_path: Path, capsys: Output) -> None:
    """Data sets need different names, by which results are stored, but may have pages with equal ids."""
    one, other = write_pages(tmp_path / "a" / "pages"), write_pages(tmp_path / "b" / "pages", n=3)
    assert trained(one, "--dataset", str(other)) == 2
    assert main(["evaluate", "kim2013", "--dataset", str(one), "--dataset", str(other)]) == 2
    shown = capsys.readouterr()
    assert shown.err.count("data sets need different names, got pages, pages") == 2
    assert shown.out == ""


def test_equal_ids(tmp_path: Path) -> None:
    """Rows belong to the page at their position, even if pages have equal ids."""
    first, second = (open_dataset(write_pages(tmp_path / name, n=n)) for name, n in (("a", 1), ("b", 2)))
    pages = [*first.pages, replace(second.pages[1], id=first.pages[0].id, site="other", flags=("seen",))]
    table = build_table([replace(first, pages=tuple(pages))], recipe("kim2013-site"))
    assert [(page.site, page.usable) for page in table.pages] == [(first.pages[0].site, True), ("other", False)]


def test_training_on_one_class_is_refused(tmp_path: Path) -> None:
    """Blocks that are all content are refused."""
    pages = write_pages(tmp_path / "pages", menu="")
    with pytest.raises(UsageError, match="all 24 blocks are content"):
        train_model([open_dataset(pages)], recipe("kim2013"), protocols=())


def test_a_model_of_one_leaf_is_refused(tmp_path: Path) -> None:
    """A tree without a split is refused."""
    pages = write_pages(tmp_path / "pages", n=2)
    with pytest.raises(UsageError, match="single leaf"):
        train_model([open_dataset(pages)], recipe("kim2013"), protocols=())


def test_unknown_sites(tmp_path: Path, capsys: Output) -> None:
    """Folds by site are refused without sites; pages of one host are one site."""
    pages = write_pages(tmp_path / "pages")
    assert trained(pages, "--cv", "site") == 2
    assert "folds by site are impossible; --cv page" in capsys.readouterr().err
    assert trained(pages) == 0
    shown = capsys.readouterr().err
    assert "by page, 5 folds" in shown
    assert "by site, " not in shown
    known = write_pages(tmp_path / "known", meta={"url": "https://cat.example/a"})
    assert trained(known) == 0
    assert "not measured, because there is only one site" in capsys.readouterr().err


def test_rows_without_gold_are_left_out(tmp_path: Path, capsys: Output) -> None:
    """Pages that nobody has labelled yet are left out of training, and their number is reported."""
    pages = write_pages(tmp_path / "pages", 8)
    for name in ("p0", "p5", "p6"):
        (pages / name / "expected.txt").unlink()
    assert trained(pages) == 0
    assert "pages: left out 3 pages without gold" in capsys.readouterr().err
    for page in pages.glob("*/expected.txt"):
        page.unlink()
    assert trained(pages) == 3
    assert "no page has gold: label some" in capsys.readouterr().err


def test_a_table_with_rows_without_gold_is_trained_on(tmp_path: Path, capsys: Output) -> None:
    """Empty cells of a table are no gold, for training and for adapting."""
    pages = write_pages(tmp_path / "pages", 8)
    with (tmp_path / "labels.csv").open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["html", "text", "url"])
        for number, folder in enumerate(sorted(pages.iterdir())):
            text = (folder / "expected.txt").read_text() if number != 2 else ""
            writer.writerow([(folder / "page.html").read_text(), text, f"https://cats.example/{number}"])
    assert trained(tmp_path / "labels.csv") == 0
    assert "labels: left out 1 page without gold" in capsys.readouterr().err
    for by in ([], ["--by", "site"]):
        out = str(tmp_path / "".join(["adapted", *by]))
        given = ["train", "--base", "default", "--dataset", str(tmp_path / "labels.csv"), "-o", out, *by]
        assert main(given) == 1  # the model finds all of this text
        assert "labels: left out 1 page without gold" in capsys.readouterr().err
