"""Pages whose content is in scripts say so."""

from __future__ import annotations

import json

import pytest

import blockml
from blockml.extract import content_in_scripts

TEXT = "Agents read code in windows of some hundred lines, and what they do not see they guess from names. " * 3
DATA = json.dumps({"props": {"article": {"body": f"<p>{TEXT}</p>"}}})
SCRIPTS = {
    "__NEXT_DATA__": f'<div id=__next></div><script id="__NEXT_DATA__" type="application/json">{DATA}</script>',
    "self.__next_f": f'<script>self.__next_f.push([1,"{TEXT}"])</script>',
    "__NUXT__": f"<div id=__nuxt></div><script>window.__NUXT__={DATA}</script>",
    "__INITIAL_STATE__": f"<script>window.__INITIAL_STATE__ = {DATA};</script>",
    "__APOLLO_STATE__": f"<script>window.__APOLLO_STATE__ = {DATA};</script>",
    "ng-state": f'<app-root></app-root><script type="application/json" id="ng-state">{DATA}</script>',
}


@pytest.mark.parametrize("name", SCRIPTS)
def test_embedded_data_is_named(name: str) -> None:
    """Without text of its own, or with only a line or two, a page says which script has its content."""
    for shell in ("", "<p>Loading, please wait.</p>", "<a href=/>Home</a>"):
        result = blockml.extract(f"<!doctype html><title>A page</title>{shell}{SCRIPTS[name]}")
        assert f"the content is in scripts ({name}), which are not run: save the page from a browser" in result.warnings
        assert blockml.render(result, "json").count(f"in scripts ({name})") == 1
    record = next(blockml.predict([{"html": SCRIPTS[name]}]))
    assert record["status"] == "empty_page"
    assert name in record["warnings"][0]


def test_each_name_is_found_in_any_case() -> None:
    """The quick search for a part of the names passes over none of them."""
    ids = "__NEXT_DATA__ __NUXT_DATA__ ng-state serverApp-state ___gatsby data-deferred-state-0 shoebox-main app-data"
    names = "self.__next_f __NUXT__ __INITIAL_STATE__ __INITIAL_DATA__ __PRELOADED_STATE__ __APOLLO_STATE__ __DATA__"
    rest = "__reactRouterContext __remixContext __sveltekit_1a2b __SERVER_DATA__ ytInitialData"
    pages = {name: f'<script id="{name}">{DATA}</script>' for name in (*ids.split(), "__FRSH_STATE", "__APP_DATA__")}
    pages |= {name: f"<script>window.{name} = {DATA}</script>" for name in (*names.split(), *rest.split())}
    for name, page in pages.items():
        for written, source in ((name, page), (name.upper(), page.replace(name, name.upper()))):
            assert f"in scripts ({written})" in content_in_scripts(blockml.parse(source), 0)


@pytest.mark.parametrize("mount", ["<div id=root></div>", '<div class=x id="app"> </div>', "<app-root></app-root>"])
def test_an_application_without_text_is_recognised(mount: str) -> None:
    """An empty element of an application is enough, together with a script that fills it."""
    [warning] = blockml.extract(f"{mount}<script src=main.js></script>").warnings
    assert warning.startswith("scripts, which are not run, fill the page (empty element ")
    assert not blockml.extract(mount).warnings
    assert not blockml.extract("<div></div><script src=main.js></script>").warnings


def test_pages_with_text_are_not_searched() -> None:
    """Neither a page with its own text, nor a short page whose scripts say less than it does, gets the warning."""
    for page in (
        f"<article><p>{TEXT}</p><p>{TEXT}</p></article>{SCRIPTS['__NEXT_DATA__']}",
        '<p>A short page of eight words, nothing else.</p><script>window.__INITIAL_STATE__ = {"a": [1, 2, 3]}</script>',
        "<script>if (window.__INITIAL_STATE__) start()</script>",
        "",
    ):
        assert not [warning for warning in blockml.extract(page, threshold=0.0).warnings if "scripts" in warning]


def test_long_markup_takes_linear_time() -> None:
    """Repeated starts of what is looked for are searched once."""
    for start in ("<script ", "<div id=root", "<div " + "a" * 300, "__NUXT__ ", "<script id="):
        page = blockml.parse(start * 60_000)
        assert content_in_scripts(page, 0) == ""
