"""Systems are chosen by the names given on the command line."""

from __future__ import annotations

import pickle
import shutil
import subprocess
import sys
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest

import blockml
from blockml.datasets import LabelledPage
from blockml.errors import ModelError, UnknownNameError, UsageError
from blockml.evaluation.comparison import PEERS, choose, run_pages, systems
from blockml.extractors import EXTRACTORS, Plain, TrainedExtractor, model_names
from blockml.extractors.registry import OTHER_TOOLS
from tests.models import small_model

PARAGRAPH = (
    "The ferry to the island leaves twice a day, in the morning and in the evening, and takes about forty minutes. "
    "Those who have been there speak of the light, of the long beach on the northern side, and of the silence at "
    "night. There is one shop, which is open until noon, and one inn, whose owner has been the mayor for many years."
)
ARTICLE = (
    "<!DOCTYPE html><html lang='en'><head><title>The island at the end of the line</title></head><body>"
    "<nav><ul><li><a href='/'>Home</a></li><li><a href='/news'>News</a></li></ul></nav>"
    "<main><article><h1>The island at the end of the line</h1>"
    + f"<p>{PARAGRAPH}</p>" * 3
    + "</article></main><footer><p><a href='/imprint'>Imprint</a></p></footer></body></html>"
)


def test_all_is_every_extractor_and_model() -> None:
    """``all`` means each extractor and model once, except those that need other pages of the site."""
    chosen = choose(["all", "plain", "default"])
    alone = [name for name, kind in EXTRACTORS.items() if not kind.traits.uses_site]
    assert [system.name for system in chosen.systems] == [*alone, *model_names()]
    assert {system.kind for system in chosen.systems} == {"own"}
    assert not chosen.missing


def test_names_of_other_tools_point_to_the_comparison() -> None:
    """Other commands refuse the name of another tool and mention ``blockml compare``."""
    assert PEERS.keys() == OTHER_TOOLS
    for name in PEERS:
        with pytest.raises(UsageError, match=f"{name} is another tool, .*blockml compare {name}"):
            blockml.evaluate(name, "data/pages")


def test_parameters_are_part_of_the_name() -> None:
    """Parameters are part of a system's name, and are checked when it is chosen."""
    [system] = choose(["kim2013:threshold=0.7"]).systems
    assert (system.name, system.parameters) == ("kim2013:threshold=0.7", (("threshold", 0.7),))
    page = "<p>A short line</p><p>" + "a much longer line of text " * 20
    kept = [len(choose([spec]).systems[0].make()(page, None).kept or []) for spec in ("kim2013:threshold=0", "kim2013")]
    assert kept[0] == 2 > kept[1]
    with pytest.raises(UnknownNameError, match="parameter 'radius'"):
        choose(["plain:radius=2"])
    with pytest.raises(UsageError, match="a parameter must be given as NAME=VALUE, got 'high'"):
        choose(["kim2013:threshold=1,high"])


@pytest.mark.parametrize(
    ("text", "value"), [("1", 1), ("0.5", 0.5), ("true", True), ("tree", "tree"), ('"tree"', "tree"), ("[1]", "[1]")]
)
def test_values_of_parameters_are_json_or_text(text: str, value: object, monkeypatch: pytest.MonkeyPatch) -> None:
    """Values that are not JSON are strings."""

    class Any(Plain):
        name = "any"

        def __init__(self, way: object = None) -> None:
            self.way = way

    for module in ("blockml.extractors.registry", "blockml.evaluation.comparison.systems"):
        monkeypatch.setattr(f"{module}.EXTRACTORS", {"any": Any})
    assert choose([f"any:way={text}"]).systems[0].parameters == (("way", value),)


def test_an_unknown_name_lists_all_known_names() -> None:
    """The error lists extractors, models, other tools and groups."""
    with pytest.raises(UnknownNameError) as caught:
        choose(["nothing"])
    assert {"plain", "kim2013", "trafilatura", "all", "peers"} <= set(caught.value.legal)


def test_model_files_are_named_after_their_stem(tmp_path: Path) -> None:
    """Two files with one stem are named by their paths, and changed content is another version."""
    (tmp_path / "other").mkdir()
    file, other = tmp_path / "mine.blockml", tmp_path / "other" / "mine.blockml"
    blockml.save(small_model(), file)
    shutil.copy(file, other)
    [system] = choose([str(file)]).systems
    assert (system.name, system.kind) == ("mine", "own")
    assert system.version.startswith("1.2+")
    both = [system.name for system in choose([str(file), str(other), str(file)]).systems]
    assert both == [str(tmp_path / "mine"), str(tmp_path / "other" / "mine")]
    named = choose({"a": str(file), "b": TrainedExtractor(small_model()), "c": "plain"}).systems
    assert [(system.name, system.kind) for system in named] == [("a", "own"), ("b", "own"), ("c", "own")]
    assert named[1].make()("<p>" + "long enough to be kept " * 5, None).kept == [0]
    with pytest.raises(UsageError, match="two systems have the name 'tiny'; from Python, give them names"):
        choose([TrainedExtractor(small_model()), TrainedExtractor(small_model(), threshold=0.7)])
    [released] = choose(["kim2013"]).systems
    assert released.version.rpartition("+")[2] != system.version.rpartition("+")[2]
    file.write_bytes(b"nothing")
    with pytest.raises(ModelError):
        choose([str(file)])


MINE = """
import numpy as np
from blockml.extractors import Extractor, Traits

class Mine(Extractor):
    name, traits = "mine", Traits("a test")
    def score(self, page):
        return np.ones(len(page.blocks), dtype=np.float32)
"""


def test_classes_are_named_by_their_module_and_versioned_by_their_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two classes of one package have different names, and a change of the package changes the version of both."""
    for name in ("mypackage/one", "mypackage/two", "mymodule"):
        file = tmp_path / f"{name}.py"
        file.parent.mkdir(exist_ok=True)
        file.write_text(MINE, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    specs = ["mypackage.one:Mine", "mypackage.two:Mine", "mymodule:Mine", "plain"]
    before = {system.name: system.version for system in choose(specs).systems}
    assert list(before) == specs
    (tmp_path / "mypackage" / "two.py").write_text(MINE.replace("ones", "zeros"), encoding="utf-8")
    after = {system.name: system.version for system in choose(specs).systems}
    assert [before[spec] == after[spec] for spec in specs] == [False, False, True, True]
    (tmp_path / "mymodule.py").write_text(MINE.replace("ones", "zeros"), encoding="utf-8")
    assert choose(["mymodule:Mine"]).systems[0].version != before["mymodule:Mine"]


def test_other_tools_have_no_parameters() -> None:
    """A parameter for another tool is refused with the reason."""
    with pytest.raises(UsageError, match="trafilatura:fast=1: third-party tools have no parameters"):
        choose(["trafilatura:fast=1"])


def test_extractors_that_use_the_site_are_a_group() -> None:
    """The group ``siblings`` has the extractors that use other pages of the site, which ``all`` leaves out."""
    systems = choose(["siblings"]).systems
    assert [system.name for system in systems][:5] == ["df", "blockdf", "entropy", "ibdf", "etdm"]
    assert all(system.uses_site for system in systems)
    assert not {system.name for system in systems} & {system.name for system in choose(["all"]).systems}


def test_a_template_is_learnt_before_extraction(tmp_path: Path) -> None:
    """Text that all pages of a site share is removed, and a single page is extracted by the fallback."""
    names = ("cats", "dogs", "birds", "fish")
    for name in names:
        text = f"<p>Home of all the animals</p><p>{'About ' + name} and what they eat.</p>"
        (tmp_path / f"{name}.html").write_text(text, encoding="utf-8")
    pages = [LabelledPage(name, "animals", tmp_path / f"{name}.html") for name in names]
    html = (tmp_path / "cats.html").read_text(encoding="utf-8")
    system = choose(["df"]).systems[0]
    assert system.make(pages)(html, None).text == "About cats and what they eat."
    assert system.make(pages[:1])(html, None).text == system.make()(html, None).text != ""
    results = {result.id: result.text for result in run_pages(system, pages, timeout=60)}
    assert results == {name: f"About {name} and what they eat." for name in names}


def test_outputs_need_a_name_and_a_file(tmp_path: Path) -> None:
    """Outputs have a name and a file, and the version depends on the content."""
    file = tmp_path / "o.jsonl"
    file.write_text('{"id": "a", "text": "x"}\n')
    one = choose([], [f"tool={file}"]).systems[0]
    file.write_text('{"id": "a", "text": "y"}\n')
    other = choose([], [f"tool={file}"]).systems[0]
    assert (one.name, one.kind) == ("tool", "outputs")
    assert one.version != other.version
    for spec in (str(file), f"={file}", "tool=nofile"):
        with pytest.raises(UsageError, match="NAME=FILE"):
            choose([], [spec])
    with pytest.raises(UsageError, match="two systems have the name 'plain'"):
        choose(["plain"], [f"plain={file}"])


def test_systems_can_be_pickled() -> None:
    """A pickled system is loaded in another process and gives the same output."""
    [system] = choose(["kim2013:threshold=0.7"]).systems
    copy = pickle.loads(pickle.dumps(system))  # noqa: S301 (our own)
    assert copy == system
    assert hash(copy) == hash(system)
    page = "<p>" + "a much longer line of text " * 20
    assert copy.make()(page, None) == system.make()(page, None)


@pytest.mark.parametrize("name", PEERS)
@pytest.mark.filterwarnings("ignore")
def test_peer_extracts_the_paragraph_of_an_article(name: str) -> None:
    """Each other tool extracts the paragraph, with and without the URL."""
    peer = PEERS[name]
    if peer.version is None:
        pytest.skip(f"{name} is not installed: {peer.install}")
    text = peer.adapter(ARTICLE, "http://example.org/island")
    assert type(text) is str
    assert PARAGRAPH in " ".join(text.split())
    assert peer.adapter(ARTICLE, None).split() == text.split()


def test_missing_tools_are_listed_with_their_install_command(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tools that aren't installed are listed with the command that installs them."""

    def lost(package: str) -> str:
        raise PackageNotFoundError(package)

    monkeypatch.setattr(systems, "version", lost)
    chosen = choose(["peers", "plain"])
    assert [system.name for system in chosen.systems] == ["plain"]
    assert list(chosen.missing) == list(PEERS)
    assert chosen.missing["goose3"].startswith("pip install goose3 (or all of them, in a checkout of blockml: ")
    if sys.version_info < (3, 12):
        assert chosen.missing["magic-html"] == "needs Python 3.12: pip install magic-html"


def test_other_tools_are_imported_late() -> None:
    """Choosing a tool doesn't import it."""
    modules = "trafilatura readability resiliparse justext boilerpy3 newspaper goose3 magic_html html_text".split()
    code = (
        "import sys; from blockml.evaluation.comparison.systems import choose; choose(['all', 'peers']);"
        f"print([name for name in {modules} if name in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)  # noqa: S603
    assert (run.returncode, run.stderr, run.stdout.strip()) == (0, "", "[]")
