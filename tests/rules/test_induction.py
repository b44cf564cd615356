"""Learnt rules: quality on pages that they were not learnt from, refusals, layouts, and their names."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import blockml
from blockml import learn_rules
from blockml.cli import main
from blockml.errors import UsageError
from blockml.page import Metadata
from blockml.rules.induction import RulesPage, candidates, learn_layout

SITES = Path(__file__).parents[2] / "data" / "sites"
PAGES = str(SITES / "quillbase-docs")
LINE = "Number {} of the cats rules the world, and nobody has ever asked it to do so, as far as we can say today. "


def page(n: int, kind: str = "article", *, name: str = "body-text") -> dict[str, str]:
    """Return a page of a site with a headline, a byline, a date, an advertisement and a text of several lines."""
    text = "".join(f"<p>{LINE.format(n * line)}</p>" for line in range(1, 5))
    inner = (
        f"<h1>Cat {n} rules</h1><p class=byline>By Ann Lee</p><time datetime=2024-05-0{n % 8 + 1}>May</time>"
        f"<{kind} class='{name}'>{text}<ul class=related><li><a href=/a>More cats</a><li><a href=/b>Dogs</a></ul>"
        f"</{kind}>"
    )
    html = f"<title>Cat {n} rules - The Daily</title><nav class=menu><a href=/>Home</a></nav><main>{inner}</main>"
    return {"id": str(n), "url": f"https://cats.example/{n}", "html": html + "<footer>Imprint</footer>"}


def labelled(pages: list[dict[str, str]]) -> list[dict[str, str]]:
    """Return pages with gold: the text without headline, byline and links."""
    texts = ["\n".join(LINE.format(int(one["id"]) * line) for line in range(1, 5)) for one in pages]
    return [{**one, "main_text": text} for one, text in zip(pages, texts, strict=True)]


def test_rules_are_few_and_read_metadata() -> None:
    """From labels, one container is learnt, with the headline, the author and the date."""
    data = blockml.open_dataset(labelled([page(n) for n in range(1, 9)]), name="cats")
    found = learn_rules(data)
    record = found.rules.record()["cats.example"]
    learnt = record.pop("learnt")
    assert record == {"within": "article > p", "title": "h1", "authors": ".byline", "published": "time"}
    assert learnt == {
        "pages": 8, "f1": 1.0, "matches": 1.0, "against": "labels", "title": 1.0, "authors": 1.0, "published": 1.0,
    }  # fmt: skip
    html, _ = data.pages[0].load()
    result = blockml.extract(html, url="https://cats.example/9", model="default", rules=found.rules)
    assert (result.title, result.metadata.authors) == ("Cat 1 rules", ("Ann Lee",))


@pytest.mark.exhaustive
def test_sites_of_data() -> None:
    """On the sites of the folder data, rules learnt from labels reach at least .93 in cross-validation."""
    found = learn_rules(blockml.open_dataset(SITES))
    scores = {result.site: result.learnt.f1 for result in found.results if result.learnt}
    assert len(scores) == 6
    assert not found.refused
    assert min(scores.values()) > 0.9
    assert float(np.mean(list(scores.values()))) > 0.97
    again = learn_rules(blockml.open_dataset(SITES))
    assert again.rules.to_toml() == found.rules.to_toml()


def test_few_pages_are_refused() -> None:
    """A site with four pages has no rules, and the reason is given."""
    found = learn_rules([page(n) for n in range(4)])
    assert not found.rules.by_site
    assert str(found.results[0]) == "cats.example: refused: 4 pages with content, but at least 5 are needed"


def test_content_without_a_lasting_name_is_refused() -> None:
    """Pages whose content moves between unnamed elements, or hashed names, are refused below the bound."""
    pages = []
    for n in range(8):
        one = page(n, "div", name=f"css-{n}x{n * 7}")
        html = one["html"].replace("<main>", "").replace("</main>", "").replace("class=byline", f"class=x{n}")
        pages.append({**one, "html": html.replace("<p>", f"<p class=c{n}>")})
    found = learn_rules(blockml.open_dataset(labelled(pages), name="cats"))
    assert [result.site for result in found.refused] == ["cats.example"]
    assert "refused: " in str(found.refused[0])


def test_layouts_get_a_rule_each() -> None:
    """A site with two layouts gets two tables, if no rules are good enough for both."""
    shop = [
        {**one, "html": one["html"].replace("<main>", "<div id=shop><table><tr><td class=item>").replace(
            "</main>", "</td></tr></table><form><input><p>Find a cat in our shop of cats</p></form></div>"
        ).replace("<p>", "<blockquote>").replace("body-text", "offers")}
        for one in (page(n, "section") for n in range(20, 30))
    ]  # fmt: skip
    data = blockml.open_dataset(labelled([*(page(n) for n in range(1, 11)), *shop]), name="cats")
    found = learn_rules(data, least_f1=0.99)
    tables = found.rules.record()["cats.example"]
    assert [table["within"] for table in tables] == ["article > p", ".offers"]
    assert all(table["learnt"]["f1"] >= 0.99 for table in tables)


def test_decisions_count_without_labels() -> None:
    """Pages without labels are learnt from by the decisions of the model, which the result says."""
    found = learn_rules([page(n) for n in range(1, 8)])
    assert found.results[0].against == "decisions"
    assert found.results[0].learnt is not None
    assert found.results[0].learnt.f1 > 0.95


def test_an_invalid_record_is_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One damaged record of a crawl does not end the learning, and is named."""
    path = tmp_path / "pages.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in [*map(page, range(1, 7)), {**page(7), "html": 5}]))
    assert main(["rules", "learn", str(path), "--quiet"]) == 0
    printed = capsys.readouterr()
    assert "7: the record has no string 'html'" in printed.err
    assert "pages = 6," in printed.out


def test_wrong_arguments() -> None:
    """Pages without an address need a site."""
    pages = [{"html": page(n)["html"]} for n in range(6)]
    with pytest.raises(UsageError, match="no page has or declares an address"):
        learn_rules(pages)
    assert list(learn_rules(pages, site="*").rules.by_site) == ["*"]
    with pytest.raises(UsageError, match="page 1 has no html"):
        learn_rules([{"url": "https://cats.example/"}])
    with pytest.raises(UsageError, match="least_f1 must be a number from 0 to 1"):
        learn_rules(pages, least_f1="x")  # type: ignore[arg-type]


def test_names_with_numbers_and_hashes_are_left_out() -> None:
    """Only names that are likely to last become selectors."""
    html = "<div id=post-12 class='css-1a2b entry sc-bdVaJa x'><p itemprop=articleBody data-testid=lead>Text</p></div>"
    found = candidates(blockml.parse(html))
    assert list(found) == [".entry", '[itemprop="articleBody"]', '[data-testid="lead"]', ".entry > p"]


def test_pages_without_candidates() -> None:
    """Pages of text only have no rules, and no error."""
    one = blockml.parse("One line")
    pages = [RulesPage(str(n), one, np.ones(1, bool), np.ones(1, bool), Metadata()) for n in range(5)]
    found = learn_layout("cats.example", pages)
    assert found.rules is None
    assert found.f1 == 0


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """``rules learn`` writes rules that ``compare`` and ``extract`` use, and prints how they were measured."""
    out = tmp_path / "rules.toml"
    assert main(["rules", "learn", PAGES, "-o", str(out)]) == 0
    printed = capsys.readouterr().err
    assert "quillbase.example: F1 " in printed
    assert "LearntRules(1 learnt, 0 refused): wrote" in printed
    assert list(blockml.read_rules(out).by_site) == ["quillbase.example"]
    assert main(["rules", "learn", str(SITES / "harbour-courier"), "--least-f1", "1"]) == 1
    assert "harbour-courier.example: refused: below F1 1: F1 0." in capsys.readouterr().err
    assert main(["rules", "learn"]) == 2
    assert "give either PAGES or --dataset" in capsys.readouterr().err


def test_a_survey_watches_rules() -> None:
    """A rule that matches on fewer pages than before is listed first."""
    rows = [{"id": f"{n}", "url": f"https://cats.example/{n}", "status": "ok", "text": "x"} for n in range(20)]
    before = [{**row, "rules": ["cats.example drop .ad", "cats.example within p"]} for row in rows]
    after = [{**row, "rules": ["cats.example within p"]} for row in rows]
    table = blockml.survey(after, before=before).tables["rules"]
    assert [(row["rule"], row["matches_less"]) for row in table] == [
        ("cats.example drop .ad", True), ("cats.example within p", False),
    ]  # fmt: skip
    assert blockml.survey(rows).tables["rules"] == []
    assert "cats.example drop .ad" in blockml.survey(after, before=before).html()
