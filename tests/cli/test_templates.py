"""The commands ``blockml templates`` and ``blockml extract --source``."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

pytest.importorskip("jinja2")

from blockml.cli import main
from blockml.templates import SiteTemplate

SITES = Path(__file__).parents[2] / "data" / "sites"
COURIER = SITES / "harbour-courier"
FRONT = COURIER / "courier-front" / "page.html"

Output = pytest.CaptureFixture[str]


def test_cluster_tells_the_sites_apart(capsys: Output, tmp_path: Path) -> None:
    """Clusters of pages equal the sites; they are printed as a table or as JSON, and written to a report."""
    report = tmp_path / "deep" / "report.html"
    assert main(["templates", "cluster", str(SITES), "--truth", "folder", "-o", str(report)]) == 0
    shown = capsys.readouterr()
    assert len(shown.out.splitlines()) == 7
    assert "87 pages; ctss, threshold" in shown.err
    assert "adjusted rand 1.000" in shown.err
    assert "quillbase" in report.read_text(encoding="utf-8")
    assert main(["templates", "cluster", str(SITES), "--truth", "folder", "--format", "json", "--subclusters"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["distance"] == "ctss"
    assert (result["threshold_source"], 0 < result["threshold"] < 1) == ("gap", True)
    assert len(result["clusters"]) == len(result["subclusters"]) == 87
    assert (result["indices"]["rand"], result["indices"]["purity"]) == (1, 1)


@pytest.mark.parametrize(
    ("options", "n"),
    [
        (["--k", "3"], 3),
        (["--threshold", "1"], 1),
        (["--distance", "ctss", "--set", "q=4", "--linkage", "average", "--k", "6"], 6),
        (["--linkage", "median", "--k", "2", "--distance", "tv"], 2),
        (["--minhash", "--threshold", "0.57", "--distance", "cp"], 6),
    ],
)
def test_ways_to_cluster(options: list[str], n: int, capsys: Output) -> None:
    """Pages can be clustered by number or threshold, with other distances and linkages, and without a matrix."""
    assert main(["templates", "cluster", str(SITES), "--format", "json", *options]) == 0
    assert len(set(json.loads(capsys.readouterr().out)["clusters"].values())) == n


def test_pages_with_one_id_are_refused(capsys: Output, tmp_path: Path) -> None:
    """Files with equal names in two folders would have the same id, which is an error."""
    for site in ("a", "b"):
        (tmp_path / site).mkdir()
        (tmp_path / site / "index.html").write_text(f"<p>{site}", encoding="utf-8")
    assert main(["templates", "cluster", str(tmp_path / "a"), str(tmp_path / "b")]) == 2
    assert "2 pages have the id 'index'" in capsys.readouterr().err
    assert main(["templates", "cluster", str(tmp_path), "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["clusters"].keys() == {"a/index", "b/index"}


def test_truth_from_a_file(capsys: Output, tmp_path: Path) -> None:
    """Only pages whose group is in the file count for the scores."""
    pages = sorted(COURIER.glob("*/page.html"))[:4]
    rows = [{"id": f"p{i}", "html": page.read_text(encoding="utf-8")} for i, page in enumerate(pages)]
    (tmp_path / "pages.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    truth = [{"id": "p0", "site": "a"}, {"id": "p1", "cluster": 7}]
    (tmp_path / "truth.jsonl").write_text("\n".join(map(json.dumps, truth)), encoding="utf-8")
    command = ["templates", "cluster", str(tmp_path / "pages.jsonl"), "--truth", str(tmp_path / "truth.jsonl")]
    assert main([*command, "--format", "json", "--threshold", "0"]) == 0
    assert json.loads(capsys.readouterr().out)["indices"]["documents"] == 2
    assert main([*command, "--truth-field", "layout"]) == 2
    assert main([*command[:-1], "nothing"]) == 2
    assert "'folder' or a file" in capsys.readouterr().err


def test_unreadable_pages_are_named(capsys: Output, tmp_path: Path) -> None:
    """Unreadable pages are left out, and the exit code is 3 if no page is left."""
    (tmp_path / "good.html").write_text("<p>good", encoding="utf-8")
    (tmp_path / "bad.html.gz").write_bytes(b"no gzip")
    assert main(["templates", "cluster", str(tmp_path)]) == 1
    assert "bad.html.gz: " in capsys.readouterr().err
    assert main(["templates", "cluster", str(tmp_path / "bad.html.gz")]) == 3
    assert main(["templates", "detect", str(tmp_path / "bad.html.gz"), "-o", str(tmp_path / "x")]) == 3
    assert not (tmp_path / "x").exists()


def test_detect_and_update(capsys: Output, tmp_path: Path) -> None:
    """Updating a template adds only the pages that it hasn't seen."""
    file = tmp_path / "courier.template"
    pages = [str(path) for path in sorted(COURIER.glob("*/page.html"))]
    assert main(["templates", "detect", *pages[:8], "-o", str(file), "--name", "courier", "--format", "json"]) == 0
    learnt = json.loads(capsys.readouterr().out)
    assert (learnt["name"], learnt["pages"], sum(row["pages"] for row in learnt["layouts"])) == ("courier", 8, 8)
    assert main(["templates", "detect", *pages, "-o", str(file), "--update"]) == 0
    assert "added 8 pages" in capsys.readouterr().err
    site = SiteTemplate.load(file)
    assert (site.name, site.counts.n_pages) == ("courier", 16)
    assert main(["templates", "detect", *pages, "-o", str(tmp_path / "none"), "--update"]) == 4
    assert main(["templates", "detect", *pages, "-o", str(file), "--update", "--threshold", "1"]) == 2


def test_records_of_several_sites_are_noticed(capsys: Output, tmp_path: Path) -> None:
    """Pages from several sites give a warning, and clusters name pages by their URLs."""
    file = tmp_path / "crawl.jsonl"
    for hosts, noticed in ((["a.example", "www.a.example"], False), (["a.example", "b.example"], True)):
        rows = [{"id": f"{n}{host}", "url": f"http://{host}/{n}", "html": f"<p>{n}"} for host in hosts for n in "012"]
        file.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
        assert main(["templates", "detect", str(file), "-o", str(tmp_path / "x")]) == 0
        assert ("the pages come from 2 sites (a.example, b.example)" in capsys.readouterr().err) == noticed
    assert main(["templates", "cluster", str(file)]) == 0
    assert "http://b.example/" not in (table := capsys.readouterr().out)
    assert "http://a.example/0 http://a.example/1 http://a.example/2" in table


def test_update_from_another_site_warns(capsys: Output, tmp_path: Path) -> None:
    """Adding pages of the same site gives no message, and adding pages of another site a warning."""
    file = str(tmp_path / "courier.template")
    pages = [str(path) for path in sorted(COURIER.glob("*/page.html"))]
    others = [str(path) for path in sorted((COURIER.parent / "patient-crumb").glob("*/page.html"))]
    assert main(["templates", "detect", *pages[:8], "-o", file]) == 0
    capsys.readouterr()
    assert main(["templates", "detect", *pages[8:12], "-o", file, "--update"]) == 0
    assert "another site" not in capsys.readouterr().err
    assert main(["templates", "detect", *others[:4], "-o", file, "--update"]) == 0
    assert "are they from another site?" in capsys.readouterr().err


def test_line_numbers_do_not_identify_a_site(capsys: Output, tmp_path: Path) -> None:
    """Numbered lines of code don't count as text that two sites share."""
    file, lines = str(tmp_path / "a.template"), "".join(f"<td>{n}<td>" for n in range(40))
    for site in "ab":
        (tmp_path / site).mkdir()
        for page in "klmn":
            html = f"<table>{lines}</table><p>Story {page} of {site}<p>Home of {site}"
            (tmp_path / site / f"{page}.html").write_text(html, encoding="utf-8")
    assert main(["templates", "detect", str(tmp_path / "a"), "-o", file]) == 0
    assert main(["templates", "detect", str(tmp_path / "b"), "-o", file, "--update"]) == 0
    assert "only 0.0% of the words" in capsys.readouterr().err


def test_extract_a_template(capsys: Output, tmp_path: Path) -> None:
    """The template contains the menu but no news; ``--content`` prints the rest and ``--view`` writes a comparison."""
    command = ["templates", "extract", str(FRONT), "--source", str(COURIER)]
    assert main([*command, "--view", str(tmp_path / "view.html")]) == 0
    shown = capsys.readouterr()
    assert "4 of 4 mutually linked pages" in shown.err
    assert "<nav" in shown.out
    assert "What the oral history project" not in shown.out
    assert "srcdoc" in (tmp_path / "view.html").read_text(encoding="utf-8")
    assert main([*command, "--content", "-o", str(tmp_path / "left.txt")]) == 0
    left = (tmp_path / "left.txt").read_text(encoding="utf-8")
    assert "What the oral history project" in left
    assert "All rights reserved" not in left


def test_a_template_file_can_be_the_source(capsys: Output, tmp_path: Path) -> None:
    """A template file with layout trees is applied, and one that only has counts is refused."""
    file = tmp_path / "courier.template"
    assert main(["templates", "detect", str(COURIER), "-o", str(file)]) == 0
    capsys.readouterr()
    command = ["templates", "extract", str(FRONT), "--source"]
    assert main([*command, str(file)]) == 0
    assert "All rights reserved" in capsys.readouterr().out
    assert main([*command, str(file), "--content"]) == 0
    assert "All rights reserved" not in capsys.readouterr().out
    SiteTemplate.count([]).save(file)
    assert main([*command, str(file)]) == 2
    assert main([*command, "https://a.example/"]) == 2
    assert "--source web" in capsys.readouterr().err


def test_a_page_without_links_has_no_template(capsys: Output, tmp_path: Path) -> None:
    """The reason is printed and nothing is written; a page outside of the source needs its URL."""
    (tmp_path / "site").mkdir()
    page = tmp_path / "site" / "alone.html"
    page.write_text("<p>alone", encoding="utf-8")
    command = ["templates", "extract", str(page), "--source", str(tmp_path / "site"), "-o", str(tmp_path / "out")]
    assert main(command) == 1
    assert "no template (no_links)" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
    for url in ("ftp://a.example/", "http://[::1", "http://a.example:99999/", "https://"):
        assert main([*command, "--url", url]) == 2
        assert "--url must be an http or https URL" in capsys.readouterr().err
    assert main([*command, "--allow-private"]) == 2
    assert main(["templates", "extract", str(page), "--source", str(tmp_path / "none")]) == 3
    outside = tmp_path / "outside.html"
    outside.write_text("<a href=alone.html>one</a>", encoding="utf-8")
    assert main(["templates", "extract", str(outside), "--source", str(tmp_path / "site")]) == 2
    assert "give --url" in capsys.readouterr().err


def test_absolute_links_of_a_copy_are_followed(capsys: Output, tmp_path: Path) -> None:
    """The URL of the page identifies the site that the folder is a copy of; without it, a message asks for it."""
    names = ["", "b/", "c/", "d/", "e/"]
    menu = "".join(f"<li><a href=https://a.example/docs/{name}>Page {name}</a>" for name in names)
    for name in names:
        folder = tmp_path / "copy" / name
        folder.mkdir(exist_ok=True, parents=True)
        (folder / "index.html").write_text(f"<ul>{menu}</ul><p>Text of {name or 'the home page'}", encoding="utf-8")
    page = str(tmp_path / "copy" / "b" / "index.html")
    command = ["extract", page, "--source", str(tmp_path / "copy"), "--model", "df", "--set", "fallback=plain"]
    assert main(["templates", *command[:4]]) == 1
    assert main(command) == 0
    assert capsys.readouterr().err.count("if its links are absolute, give the page's URL with --url") == 2
    for url in ("https://a.example/docs/b/", "https://a.example/docs/b/index.html"):
        assert main([*command, "--url", url]) == 0
        shown = capsys.readouterr()
        assert (shown.out.strip(), "4 links, 5 pages loaded" in shown.err) == ("Text of b/", True)
        assert main(["templates", *command[:4], "--url", url]) == 0
        assert "4 of 4 mutually linked pages" in capsys.readouterr().err


def test_menu(capsys: Output, tmp_path: Path) -> None:
    """The menu is printed with its XPath and links, and a page without a menu gives exit code 1."""
    assert main(["templates", "menu", str(FRONT), "--format", "json"]) == 0
    menu = json.loads(capsys.readouterr().out)
    assert menu["xpath"] == "/html/body/header/nav"
    assert [link["text"] for link in menu["links"]] == "Home,Local,Business,Environment,Culture,About us".split(",")
    assert menu["links"][2] == {"text": "Business", "href": "/business/"}
    assert main(["templates", "menu", str(FRONT), "--candidates", "--method", "ratio"]) == 0
    assert "xpath" in capsys.readouterr().out
    (tmp_path / "none.html").write_text("<p>none", encoding="utf-8")
    for options, printed in (([], ""), (["--format", "json"], "null\n")):
        assert main(["templates", "menu", str(tmp_path / "none.html"), *options]) == 1
        shown = capsys.readouterr()
        assert (shown.out, "no menu" in shown.err) == (printed, True)
    assert main(["templates", "menu", str(tmp_path / "gone.html")]) == 3


def test_extract_learns_from_links(capsys: Output, tmp_path: Path) -> None:
    """The template is learnt from linked pages, and can't be combined with a given template."""
    page = str(COURIER / "courier-local" / "page.html")
    assert main(["extract", page, "--source", str(COURIER), "--model", "df"]) == 0
    shown = capsys.readouterr()
    assert "15 pages loaded" in shown.err
    assert "All rights reserved" not in shown.out
    assert main(["extract", page, "--source", str(COURIER), "--template", str(tmp_path / "x")]) in (2, 4)
    (tmp_path / "lone.html").write_text(f"<p>{'word ' * 50}", encoding="utf-8")
    assert main(["extract", str(tmp_path / "lone.html"), "--source", str(tmp_path), "--model", "df"]) == 0
    assert "the template was learned from too few pages and accb was used instead" in capsys.readouterr().err


def test_a_page_may_come_from_standard_input(capsys: Output, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A page is read from standard input, and an unreadable source gives exit code 3."""

    class Input:
        buffer = io.BytesIO(FRONT.read_bytes())

    monkeypatch.setattr("sys.stdin", Input)
    assert main(["templates", "menu", "-", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["xpath"] == "/html/body/header/nav"
    (tmp_path / "bad.warc.gz").write_bytes(b"no gzip")
    assert main(["templates", "extract", str(FRONT), "--source", str(tmp_path / "bad.warc.gz")]) == 3
