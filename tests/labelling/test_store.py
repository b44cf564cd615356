"""The store of labels writes page folders that training can read at any time."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from blockml.datasets import open_dataset
from blockml.datasets.labelled import UNFINISHED_FLAG
from blockml.errors import DatasetError, InputError, UsageError
from blockml.extractors import resolve
from blockml.labelling import store as store_module
from blockml.labelling.store import LabelConflictError, LabelStore
from blockml.page import Label

PAGE = "<title>{0}</title><a href=/>Home</a><h1>Cats {0}</h1><p>Cats rule the world, and nobody has asked them to.</p>"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with two page files and a page folder."""
    folder = tmp_path / "mine"
    (folder / "sub").mkdir(parents=True)
    (folder / "a.html").write_text(PAGE.format("a"))
    (folder / "sub" / "b.htm").write_text(PAGE.format("b"))
    (folder / "c").mkdir()
    (folder / "c" / "page.html").write_text(PAGE.format("c"))
    (folder / "c" / "meta.json").write_text('{"url": "https://cats.example/c", "page_type": "article"}')
    return folder


def store_of(folder: Path, output: Path | None = None) -> LabelStore:
    """Return a store that uses the small model."""
    return LabelStore(folder, output or folder.with_name("out"), resolve("kim2013"))


def test_labels_become_a_data_set(folder: Path, tmp_path: Path) -> None:
    """Saved labels can be read as a data set with the page's metadata, and the source files don't change."""
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    store = store_of(folder)
    assert set(store.pages) == {"a", "sub/b", "c"}
    for page in store.pages.values():
        parsed, _ = store.propose(page)
        store.save(page, parsed, [Label.NAVIGATION, Label.HEADING, Label.MAIN], done=True)
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before
    dataset = open_dataset(tmp_path / "out")
    assert sorted(page.id for page in dataset.pages) == ["a", "c", "sub/b"]
    assert all(page.trusted for page in dataset.pages)
    labelled = next(page for page in dataset.pages if page.id == "c")
    assert (labelled.url, labelled.page_type) == ("https://cats.example/c", "article")
    content, gold = labelled.load()
    assert content == (folder / "c" / "page.html").read_bytes()
    assert gold is not None
    assert gold.text() == "Cats c\nCats rule the world, and nobody has asked them to."


def test_unfinished_pages_are_flagged_and_resumed(folder: Path) -> None:
    """Unfinished pages have a flag that excludes them from training, and their labels are restored."""
    store = store_of(folder)
    page = store.pages["a"]
    parsed, decision = store.propose(page)
    chosen = [Label.FOOTER, Label.MAIN, Label.COMMENT]
    store.save(page, parsed, chosen, done=False)
    assert open_dataset(store.output).pages[0].flags == (UNFINISHED_FLAG,)
    again = store_of(folder)
    assert again.pages["a"].state == "unfinished"
    assert again.labels(again.pages["a"], parsed, decision) == chosen
    again.save(again.pages["a"], parsed, chosen, done=True)
    assert open_dataset(store.output).pages[0].flags == ()
    assert store_of(folder).pages["a"].state == "done"


def test_page_folders_can_be_labelled_in_place(folder: Path) -> None:
    """A folder that only has page folders may also be the output, and an output inside it isn't labelled."""
    before = sorted(folder.rglob("*"))
    with pytest.raises(UsageError, match="contains page files; give another folder for the labels"):
        store_of(folder, folder)
    assert sorted(folder.rglob("*")) == before
    inside = store_of(folder, folder / "out")
    inside.save(inside.pages["a"], inside.propose(inside.pages["a"])[0], [Label.MAIN] * 3, done=True)
    assert set(store_of(folder, folder / "out").pages) == {"a", "sub/b", "c"}
    (folder / "a.html").unlink()
    (folder / "sub" / "b.htm").unlink()
    store = store_of(folder, folder)
    page = store.pages["c"]
    store.save(page, store.propose(page)[0], [Label.MAIN] * 3, done=True)
    assert json.loads((folder / "c" / "meta.json").read_text())["url"] == "https://cats.example/c"


def test_labels_are_saved_with_the_current_page(folder: Path, tmp_path: Path) -> None:
    """A page that changed since its first labels is copied again and replaces a copy with another suffix."""
    store = store_of(folder)
    page = store.pages["a"]
    store.save(page, store.propose(page)[0], [Label.MAIN] * 3, done=True)
    (tmp_path / "out" / "a" / "page.html").rename(tmp_path / "out" / "a" / "page.htm")
    (folder / "a.html").write_text("<p>Dogs.</p>")
    store.save(page, store.propose(page)[0], [Label.MAIN], done=True)
    (labelled,) = open_dataset(tmp_path / "out").pages
    content, gold = labelled.load()
    assert content == b"<p>Dogs.</p>"
    assert gold is not None
    assert gold.text() == "Dogs."


def test_a_page_without_text_is_labelled_like_others(folder: Path, tmp_path: Path) -> None:
    """A page without text has no labels, and the folder can still be read."""
    (folder / "a.html").write_text("<title>Nothing</title>")
    store = store_of(folder)
    page = store.pages["a"]
    parsed, decision = store.propose(page)
    store.save(page, parsed, [], done=True)
    assert store.labels(page, parsed, decision) == []
    ((_, gold),) = [labelled.load() for labelled in open_dataset(tmp_path / "out").pages]
    assert gold is not None
    assert (gold.text(), gold.label(parsed).main.tolist()) == ("", [])


def test_folders_named_like_pages_are_not_pages(folder: Path) -> None:
    """A folder named ``d.html``, as in mirrors of sites, is searched for pages."""
    (folder / "d.html").mkdir()
    (folder / "d.html" / "e.html").write_text(PAGE.format("e"))
    assert set(store_of(folder).pages) == {"a", "sub/b", "c", "d.html/e"}


def test_unknown_encodings_are_reported(folder: Path) -> None:
    """An unknown encoding is an error when the page is opened, but not when pages are ranked."""
    (folder / "c" / "meta.json").write_text('{"encoding": "klingon"}')
    store = store_of(folder)
    store.rank()
    with pytest.raises(DatasetError, match="unknown encoding 'klingon'"):
        store.propose(store.pages["c"])


def test_a_failed_save_leaves_the_last_one(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the disk is full, only the last change is lost."""
    store = store_of(folder)
    page = store.pages["a"]
    parsed, decision = store.propose(page)
    store.save(page, parsed, [Label.MAIN] * 3, done=True)

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("blockml.labelling.store.write_labels", full)
    with pytest.raises(OSError, match="No space left"):
        store.save(page, parsed, [Label.OTHER] * 3, done=True)
    assert store.labels(page, parsed, decision) == [Label.MAIN] * 3
    with pytest.raises(UsageError, match="3 blocks, got 2 labels"):
        store.save(page, parsed, [Label.OTHER] * 2, done=True)


@pytest.mark.parametrize("n_writes", range(4))
@pytest.mark.parametrize("was_done", [False, True, None])
@pytest.mark.parametrize("done", [False, True])
def test_labels_and_their_state_are_saved_together(
    folder: Path,
    done: bool,  # noqa: FBT001
    was_done: bool | None,  # noqa: FBT001
    n_writes: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A process that is killed after any write leaves the labels and the state of one save."""
    store = store_of(folder)
    page = store.pages["a"]
    parsed, decision = store.propose(page)
    before, after = [Label.MAIN] * 3, [Label.OTHER] * 3
    if was_done is not None:
        store.save(page, parsed, before, done=was_done)
    count = 0

    def killed(write: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*arguments: Any, **options: Any) -> Any:
            nonlocal count
            count += 1
            if count > n_writes:
                raise KeyboardInterrupt
            return write(*arguments, **options)

        return counted

    for module, name in ((store_module, "write_labels"), (store_module, "atomic_write")):
        monkeypatch.setattr(module, name, killed(getattr(module, name)))
    with suppress(KeyboardInterrupt):
        store.save(page, parsed, after, done=done)
    monkeypatch.undo()
    again = store_of(folder).pages["a"]
    labels = store.labels(again, parsed, decision)
    if again.state == "open":
        assert was_done is None
        assert not (store.output / "a" / "labels.jsonl").exists()
    else:
        assert (again.state == "done", labels) in ((was_done, before), (done, after))
        (read,) = open_dataset(store.output).pages
        assert (UNFINISHED_FLAG in read.flags) == (again.state == UNFINISHED_FLAG)


@pytest.mark.exhaustive
def test_a_killed_process_leaves_one_of_its_saves(folder: Path) -> None:
    """Labels and state of a process that saves again and again are those of one save, whenever it is killed."""
    code = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
from test_store import Label, Path, store_of
store = store_of(Path({str(folder)!r}))
page = store.pages["a"]
parsed, _ = store.propose(page)
while True:
    for label, done in ((Label.MAIN, True), (Label.OTHER, False), (Label.HEADING, True), (Label.COMMENT, False)):
        store.save(page, parsed, [label] * 3, done=done)
    print(flush=True)
"""
    saves = {(Label.MAIN, True), (Label.OTHER, False), (Label.HEADING, True), (Label.COMMENT, False)}
    chance = random.Random(1)  # noqa: S311 (no secret)
    for _ in range(8):
        with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as process:  # noqa: S603
            assert process.stdout is not None
            process.stdout.readline()
            time.sleep(chance.random() / 20)
            process.kill()
        store = store_of(folder)
        page = store.pages["a"]
        found = store.labels(page, *store.propose(page))
        assert len(set(found)) == 1
        assert (found[0], page.state == "done") in saves


def test_the_state_of_labels_of_earlier_versions(folder: Path) -> None:
    """A flag in ``meta.json`` is read, and removed after confirmed labels are in place."""
    store = store_of(folder)
    page = store.pages["a"]
    parsed, _ = store.propose(page)
    store.save(page, parsed, [Label.MAIN] * 3, done=True)
    meta = store.output / "a" / "meta.json"
    meta.write_text(json.dumps({**json.loads(meta.read_text()), "flags": [UNFINISHED_FLAG]}))
    assert store_of(folder).pages["a"].state == UNFINISHED_FLAG
    store.save(page, parsed, [Label.OTHER] * 3, done=True)
    assert store_of(folder).pages["a"].state == "done"
    assert json.loads(meta.read_text())["flags"] == []


def test_versions_change_with_labels_and_their_state(folder: Path) -> None:
    """A version stands for labels and state; saving over another version is refused and changes nothing."""
    store = store_of(folder)
    page = store.pages["a"]
    parsed, decision = store.propose(page)
    versions = [store.version(page)]
    for label, done in ((Label.MAIN, False), (Label.MAIN, True), (Label.OTHER, True)):
        versions.append(store.save(page, parsed, [label] * 3, done=done, version=versions[-1]))
        assert store.version(page) == versions[-1]
    assert versions[0] == ""
    assert len(set(versions)) == 4
    for version in versions[:-1]:
        with pytest.raises(LabelConflictError, match="changed elsewhere"):
            store.save(page, parsed, [Label.MAIN] * 3, done=False, version=version)
    assert store.labels(page, parsed, decision) == [Label.OTHER] * 3


def test_uncertain_pages_come_first(folder: Path) -> None:
    """Pages are sorted by the model's confidence, with finished pages at the end."""
    store = store_of(folder)
    (folder / "long.html").write_text("<p>" + "A long paragraph of plain words without any link. " * 30)
    page = store.pages["a"]
    store.save(page, store.propose(page)[0], [Label.MAIN] * 3, done=True)
    ranked = store_of(folder)
    ranked.rank()
    assert list(ranked.pages)[-1] == "a"
    confidences = [page.confidence for page in list(ranked.pages.values())[:-1]]
    assert confidences == sorted(confidences)
    assert len(set(confidences)) > 1


def test_pages_without_text_come_after_the_others(folder: Path) -> None:
    """Pages without text and pages that can't be read aren't the first to label."""
    (folder / "a.html").write_text("<title>Nothing</title>")
    (folder / "c" / "meta.json").write_text('{"encoding": "klingon"}')
    store = store_of(folder)
    store.rank()
    assert next(iter(store.pages)) == "sub/b"


def test_wrong_folders(tmp_path: Path) -> None:
    """The error names the reason that a folder can't be labelled."""
    with pytest.raises(InputError, match="no such folder"):
        store_of(tmp_path / "nowhere")
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="no pages"):
        store_of(tmp_path / "empty")
