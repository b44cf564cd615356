"""Files of rules, and rules on top of an extractor."""

from __future__ import annotations

import json
import pickle
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import blockml
from blockml.batch import BatchExtractor, Options
from blockml.cli import main
from blockml.errors import BlockmlError, InputError, UsageError
from blockml.extractors import Extractor, RoutedExtractor, read_routed, trained, write_routed
from blockml.extractors.routed import RulesExtractor
from blockml.page import Reason
from blockml.rules import EXAMPLE, read_rules, tally_notes
from blockml.rules.selectors import Mask, Selector, SelectorTree

HTML = (
    "<title>Cats - The Daily</title><nav>Home</nav><article><h1>Cats</h1>"
    "<p>Cats rule the world, and nobody has ever asked them to do so, but they do it anyway, every single day.</p>"
    "<div class=ad><p>Buy this cat now, because it is the last cat in our shop, and there are no others.</p>"
    "<p class=note>The shop belongs to the publisher of this paper, as the law of the land requires us.</p></div>"
    "</article><footer>Imprint</footer>"
)
URL = "https://www.cats.example/1"


def test_the_smallest_file(tmp_path: Path) -> None:
    """The file of the help texts can be read, and drops what it says."""
    path = tmp_path / "rules.toml"
    path.write_text(EXAMPLE)
    html = HTML.replace("class=ad", "class=newsletter")
    assert "Buy" in blockml.extract(html, url=URL, model="plain").text
    assert "Buy" not in blockml.extract(html, url=URL, model="plain", rules=path).text
    assert "Buy" in blockml.extract(html, url="https://dogs.example/", model="plain", rules=path).text


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('["cats.example"]\ndrops = "p"', "unknown field 'drops'; did you mean 'drop'?"),
        ('["cats.example"]\ndrop = 1', "drop must be a selector or a list of selectors, got 1"),
        ('["cats.example"]\ndrop = []', "drop must be a selector"),
        ('["cats.example"]\ndrop = "p["', "cats.example: drop: the selector 'p[' can't be read"),
        ('["cats.example"]\nwithin = "a::attr(href)"', "within chooses elements, not attributes"),
        ('["https://cats.example/"]\ndrop = "p"', "must be a site, such as cats.example, or *"),
        ('drop = "p"', "must be a table of within, keep, drop, title, authors, published"),
        (
            '["cats.example"]\ndrop = "p"\nlearnt = { x = [1, { y = 2 }] }',
            "learnt must be a table of numbers and texts",
        ),
        ('["cats.example"]\ndrop = "p"\nlearnt = { "x y" = 1 }', "learnt must be a table of numbers"),
        ('["cats.example"', "not a TOML file of rules"),
        ("\xff", "not a TOML file of rules"),
    ],
)
def test_a_wrong_file_is_named(tmp_path: Path, content: str, message: str) -> None:
    """An error gives the file, the site, the field and the legal values."""
    path = tmp_path / "rules.toml"
    path.write_bytes(content.encode("latin-1"))
    with pytest.raises(UsageError) as raised:
        read_rules(path)
    assert message in str(raised.value)
    assert str(path) in str(raised.value)


def test_what_is_not_a_file_is_named(tmp_path: Path) -> None:
    """A missing file is an input error, another type a usage error."""
    with pytest.raises(InputError, match="No such file"):
        read_rules(tmp_path / "none.toml")
    with pytest.raises(UsageError, match=r"rules must be a file, a mapping or blockml\.rules\.Rules, got int"):
        read_rules(3)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="at most 20 layouts, each with at most 200 selectors"):
        read_rules({"a.example": {"drop": [f"p{n}" for n in range(201)]}})


def test_limits_count_before_selectors_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A site with too many selectors or layouts is refused without compiling one, in any spelling of its name."""
    monkeypatch.setattr("blockml.rules.site_rules.compile_selector", None)
    path = tmp_path / "rules.toml"
    path.write_text(f'["a.example"]\ndrop = {json.dumps([f"p{n}" for n in range(28_000)])}\n')
    layouts: list[dict[str, str]] = [{}] * 11
    for rules in (path, {"a.example": [{"drop": "p"}] * 21}, {"a.example": layouts, "A.example": layouts}):
        with pytest.raises(UsageError, match="at most 20 layouts, each with at most 200 selectors"):
            read_rules(rules)


@pytest.mark.parametrize("name", ["a", '"a"', "'a'", '"\\""'])
@pytest.mark.parametrize("dot", [".", " .\t"])
@pytest.mark.parametrize("line", ["[{}]", "[[{}]]", "{} = 1", "x = {{ y = 1, {} = 2 }}", 'x = """\n", {}'])
def test_keys_of_many_names_are_refused(tmp_path: Path, line: str, dot: str, name: str) -> None:
    """A dotted key, whose time would be quadratic, is refused before the file is read as TOML."""
    path = tmp_path / "rules.toml"
    for n_names, message in ((125_000, "at most 100 names may be joined by dots"), (100, "unknown field|not a TOML")):
        path.write_text(line.format(dot.join([name] * n_names)))
        with pytest.raises(UsageError, match=message):
            read_rules(path)


def test_rules_survive_writing_and_pickling(tmp_path: Path) -> None:
    """Rules are the same after they were written, read and pickled, whatever their selectors contain."""
    rules = read_rules(
        {
            "*": {"drop": ['[title="\\"\u00e9\x7f"]', "nav"]},
            "bücher.example": [{"within": "article", "learnt": {"f1": 0.9}}, {"within": "#b", "title": "h1"}],
        }
    )
    rules.save(tmp_path / "rules.toml")
    for other in (read_rules(tmp_path / "rules.toml"), pickle.loads(pickle.dumps(rules))):  # noqa: S301
        assert other.record() == rules.record()
        assert other.digest == rules.digest
    assert [item.site for item in rules.at("https://www.bücher.example/x")] == ["xn--bcher-kva.example"] * 2 + ["*"]


def test_what_utf_8_cannot_write_is_named(tmp_path: Path) -> None:
    """Rules with half a surrogate pair are not written, and leave no file."""
    with pytest.raises(UsageError, match="can't be written"):
        read_rules({"*": {"drop": "[a='\ud800']"}}).save(tmp_path / "rules.toml")
    assert not list(tmp_path.iterdir())


def test_the_nearest_domain_counts() -> None:
    """A host's own rules replace those of its site, and rules for any site come in addition."""
    rules = read_rules({name: {"drop": "p"} for name in ("*", "cats.example", "a.cats.example")})
    for url, wanted in (
        ("https://x.a.cats.example/", ["a.cats.example", "*"]),
        ("https://www.cats.example/", ["cats.example", "*"]),
        ("https://example/", ["*"]),
        (None, ["*"]),
    ):
        assert [item.site for item in rules.at(url)] == wanted


def test_the_innermost_rule_decides() -> None:
    """``keep`` in ``drop`` keeps, ``drop`` in ``within`` drops, and blocks outside of ``within`` go."""
    rules = {"cats.example": {"within": "article", "drop": ".ad", "keep": [".note", "footer"]}}
    result = blockml.extract(HTML, url=URL, model="plain", rules=rules)
    texts = [result.page.blocks.texts[block][:4] for block in np.flatnonzero(result.kept)]
    assert texts == ["Cats", "Cats", "The ", "Impr"]
    assert result.rules is not None
    decided = dict(zip([text[:4] for text in result.page.blocks.texts], result.rules.by_block, strict=True))
    assert decided == {
        "Home": "cats.example within article", "Cats": "", "Buy ": "cats.example drop .ad",
        "The ": "cats.example keep .note", "Impr": "cats.example keep footer",
    }  # fmt: skip
    assert [reason.keeps for reason in result.reasons] == result.kept.tolist()
    assert result.reasons[0] is Reason.REMOVED_BY_RULE


def test_drop_comes_before_keep_on_the_same_element() -> None:
    """Of several rules for one element the most careful one decides."""
    rules = {"*": {"keep": ".ad", "drop": "div"}}
    assert "Buy" not in blockml.extract(HTML, model="plain", rules=rules).text


def test_a_part_of_a_line() -> None:
    """An element within a line can be dropped, too."""
    assert blockml.extract("<p>One <b>two</b> three", model="plain", rules={"*": {"drop": "b"}}).text == "One three"


def test_pictures_go_with_what_is_dropped() -> None:
    """Markdown and the list of pictures leave out a picture in an element that a rule drops."""
    text = "Cats rule the world, and nobody has ever asked them to do so, but they do it anyway, every day. "
    figure = "<figure class=pic><img src=/c.png width=400 height=300></figure>"
    html = f"<article><h1>Cats</h1><p>{text * 2}</p>{figure}<p>{text}</p></article>"
    for rules, n_pictures in ((None, 1), ({"*": {"drop": ".pic"}}, 0), ({"*": {"within": "p"}}, 0)):
        result = blockml.extract(html, rules=rules)
        assert len(result.images) == n_pictures
        assert ("c.png" in result.markdown) == bool(n_pictures)


def test_rules_without_a_match_change_nothing() -> None:
    """A page on which ``within`` matches nothing is left to the extractor."""
    before = blockml.extract(HTML, url=URL)
    after = blockml.extract(HTML, url=URL, rules={"*": {"within": "#main", "drop": "#ad"}})
    assert after.text == before.text
    assert list(after.reasons) == list(before.reasons)
    assert after.rules is not None
    assert dict(after.rules.counts) == {"* within #main": 0, "* drop #ad": 0}


def test_the_first_layout_that_matches_counts() -> None:
    """Of several tables of a site only the first whose container is on the page is used."""
    layouts = [{"within": "#shop", "drop": "h1"}, {"within": "article", "title": "h1"}, {"within": "nav"}]
    result = blockml.extract(HTML, url=URL, model="plain", rules={"cats.example": layouts})
    assert result.text.startswith("Cats\n")
    assert "Home" not in result.text
    assert result.rules is not None
    assert list(result.rules.counts) == ["cats.example within article", "cats.example title h1"]


def test_metadata_by_rules() -> None:
    """Rules replace title, authors and date, each with the source ``rule``; an empty value changes nothing."""
    html = (
        "<h1>One</h1><h2>Two</h2><p class=by>By Ann Lee</p><time datetime=2024-05-03>May</time><meta name=t content=T>"
    )
    rules = {"*": {"title": "h2", "authors": ".by", "published": "time"}}
    result = blockml.extract(html, rules=rules)
    assert (result.title, result.metadata.title) == ("Two", "Two")
    assert (result.metadata.authors, result.metadata.published) == (("Ann Lee",), "2024-05-03")
    assert {name: result.metadata.sources[name] for name in ("title", "authors", "published")} == dict.fromkeys(
        ("title", "authors", "published"), "rule"
    )
    for title in ("meta[name=t]", "//meta[@name='t']/@content", "meta::attr(content)"):
        assert blockml.extract(html, rules={"*": {"title": title}}).title == "T"
    assert blockml.extract(html, rules={"*": {"title": "h6"}}).title == blockml.extract(html).title


@pytest.mark.parametrize("system", ["on top", "only rules", "folder"])
def test_each_rule_is_matched_once(system: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Routing, extraction, decision, title and metadata of a page share the matches of its rules."""
    calls, select = Counter[str](), Selector.select

    def counted(selector: Selector, tree: SelectorTree) -> Mask:
        calls[selector.text] += 1
        return select(selector, tree)

    monkeypatch.setattr(Selector, "select", counted)
    rules = read_rules({"cats.example": {"within": "article", "drop": ".ad", "authors": ".note", "title": "h1"}})
    base = trained("kim2013").model
    model: Extractor = {
        "on top": blockml.load("kim2013"),
        "only rules": RulesExtractor(rules),
        "folder": RoutedExtractor(base, by_rules=RulesExtractor(rules)),
    }[system]
    result = blockml.extract(HTML, url=URL, model=model, rules=rules if system == "on top" else None)
    assert "Buy" not in result.text
    assert (result.title, result.metadata.title) == ("Cats", "Cats")
    assert calls == Counter([".ad", "article", ".note", "h1"])


def test_a_title_by_rules_reads_no_other_metadata(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where rules name no title, only the headline of the page is read."""
    monkeypatch.setattr("blockml.metadata.metadata.page_metadata", lambda _: pytest.fail("metadata were read"))
    for selector, title in ((".note", "The shop belongs"), ("h2", "Cats")):
        result = blockml.extract(HTML, rules={"*": {"title": selector}})
        assert (result.title or "").startswith(title)


def test_a_rule_that_takes_most_of_a_page_is_remarked() -> None:
    """The warning names the rule."""
    result = blockml.extract(HTML.replace("class=ad", ""), url=URL, rules={"cats.example": {"drop": "article"}})
    assert result.status == "no_content"
    assert any("the rule cats.example drop article removes more than half" in text for text in result.warnings)


def test_a_page_without_an_address_is_remarked() -> None:
    """Rules of sites have no effect without one, which the warnings say."""
    assert any("no address" in text for text in blockml.extract(HTML, rules={"cats.example": {"drop": "p"}}).warnings)


def test_a_run_lists_rules_that_match_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The command counts the pages that rules were tried on, also over parts of a run."""
    rules, pages = tmp_path / "rules.toml", tmp_path / "pages.jsonl"
    rules.write_text('["cats.example"]\ndrop = [".ad", ".none"]\n["dogs.example"]\ndrop = "p"\n')
    pages.write_text("".join(json.dumps({"id": str(n), "url": URL, "html": HTML}) + "\n" for n in range(3)))
    out = tmp_path / "out.jsonl"
    assert main(["predict", str(pages), "--rules", str(rules), "-o", str(out), "--fields", "id,text,rules"]) == 0
    printed = capsys.readouterr().err
    assert "the rule cats.example drop .none matched none of 3 pages" in printed
    assert "no page had the sites of 1 rule" in printed
    records = [json.loads(line) for line in out.read_text().splitlines()]
    assert [record["rules"] for record in records] == [["cats.example drop .ad"]] * 3
    assert all("Buy" not in record["text"] for record in records)


def test_records_name_rules_only_if_there_are_some() -> None:
    """The field is added to the default fields of a run with rules, and survives engines."""
    options = Options(rules={"*": {"drop": ".ad"}})
    (record,) = pickle.loads(pickle.dumps(BatchExtractor("plain", options))).records([{"html": HTML}])  # noqa: S301
    assert record["rules"] == ["* drop .ad"]
    assert "rules" not in next(iter(blockml.predict([{"html": HTML}], model="plain")))
    assert options.record()["rules"] != Options(rules={"*": {"drop": ".b"}}).record()["rules"]


def test_large_removals_are_counted() -> None:
    """The notes of a run name a rule that removes too much."""
    result = blockml.extract(HTML.replace("class=ad", ""), rules={"*": {"drop": "article"}})
    assert result.rules is not None
    assert "removed more than half" in tally_notes({"*": {"drop": "article"}}, result.rules.tally())[0]


def test_the_view_names_the_rule(tmp_path: Path) -> None:
    """The page view gives the rule as the reason, at any threshold."""
    page, rules, view = tmp_path / "page.html", tmp_path / "rules.toml", tmp_path / "view.html"
    page.write_text(HTML)
    rules.write_text('["*"]\ndrop = ".ad"\nkeep = "nav"\n')
    assert main(["view", str(page), "--rules", str(rules), "-o", str(view)]) == 0
    written = view.read_text()
    assert "kept by rule: * keep nav" in written
    assert '"by_rule":[true,null,null,false,false,null]' in written


def kept(extractor: Extractor, html: str = HTML, url: str | None = URL) -> list[str]:
    """Return the starts of the kept blocks."""
    result = blockml.extract(html, url=url, model=extractor)
    return [result.page.blocks.texts[block][:4] for block in np.flatnonzero(result.kept)]


def test_an_extractor_by_rules(tmp_path: Path) -> None:
    """``rules:FILE`` keeps what rules name, and nothing of sites without rules."""
    path = tmp_path / "rules.toml"
    path.write_text('["cats.example"]\nwithin = "article"\ndrop = ".ad"\ntitle = "h1"\n["dogs.example"]\ndrop = "nav"')
    extractor = blockml.load(f"rules:{path}")
    assert kept(extractor) == ["Cats", "Cats"]
    assert kept(extractor, url="https://dogs.example/") == ["Cats", "Cats", "Buy ", "The ", "Impr"]
    assert kept(extractor, url=None) == []
    assert kept(extractor, "<p>One") == []
    result = blockml.extract(HTML, url=URL, model=extractor)
    assert (result.title, result.metadata.sources["title"]) == ("Cats", "rule")
    assert extractor.explain(result.page)[3] == "cats.example drop .ad"
    assert extractor.id.startswith("rules:rules.toml ")
    with pytest.raises(InputError, match="No such file"):
        blockml.load("rules:none.toml")
    assert any("no rule" in text for text in blockml.extract("<p>One", url=URL, model=extractor).warnings)


def test_a_folder_of_models_with_rules(tmp_path: Path) -> None:
    """Pages that the rules in a folder match are extracted by these, others by its models."""
    base = blockml.load("default").model  # type: ignore[attr-defined]
    write_routed(tmp_path, base, {}, [], {})
    (tmp_path / "rules.toml").write_text('["cats.example"]\nwithin = "article"\ndrop = ".ad"\n')
    routed = read_routed(tmp_path)
    assert isinstance(routed, RoutedExtractor)
    assert kept(routed) == ["Cats", "Cats"]
    models = [
        blockml.extract(html, url=url, model=str(tmp_path), exclude="comment").model
        for html, url in ((HTML, URL), ("<p>One", URL), (HTML, "https://dogs.example/"))
    ]
    assert models[0].startswith("rules:rules.toml")
    assert models[1:] == [base.id] * 2


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('["*"]\ndrop = ".ad"\n', r"has only rules for \*, which route no page; give the file by --rules"),
        ('["cats.example"]\ntitle = "h1"\n', "the rules of cats.example only read metadata"),
        ("x [", "not a TOML file of rules .* the smallest one has two lines, .*cats.example.* and drop"),
        (None, "is not a regular file, but has the name of the folder"),
    ],
)
def test_rules_of_a_folder_that_have_no_effect_are_refused(tmp_path: Path, content: str | None, message: str) -> None:
    """Nothing in a folder of models is ignored: a name that leads nowhere, and rules that route no page."""
    write_routed(tmp_path, trained("kim2013").model, {}, [], {})
    if content is None:
        (tmp_path / "rules.toml").symlink_to(tmp_path / "nowhere")
    else:
        (tmp_path / "rules.toml").write_text(content)
    with pytest.raises(BlockmlError, match=message):
        read_routed(tmp_path)


def test_comparisons_notice_changed_rules(tmp_path: Path) -> None:
    """The version of a system by rules changes with the file."""
    from blockml.evaluation.comparison import choose

    path = tmp_path / "rules.toml"
    versions = []
    for field in ("drop", "within"):
        path.write_text(f'["cats.example"]\n{field} = "p"\n')
        versions.append(choose([f"rules:{path}"]).systems[0].version)
    assert versions[0] != versions[1]


@pytest.mark.parametrize("n", [2000])
def test_hostile_pages(n: int) -> None:
    """Deep nesting, thousands of matches and long attributes are handled like any page."""
    rules = {"*": {"within": "div", "keep": "//*[@class]", "drop": "div div:nth-child(2n)", "title": "//*"}}
    deep = "<div class=a>" * n + "x" + "</div>" * n
    wide = "".join(f"<p class='{'a ' * 50}'>{i} words</p>" for i in range(n))
    for html in (deep, wide, f"<div {'class=' + 'a' * 10**5}>x</div>", ""):
        result = blockml.extract(html, rules=rules, model=RulesExtractor(rules))
        assert len(result.kept) == len(result.page.blocks)
