"""The pipeline of a page: parse, predict, decide, render.

``bytes → parse → Page → features.matrix → model.score_page → decide → Decision → render``

Pages whose content is in scripts, which blockml does not run: data of frameworks, and elements that scripts fill.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, TextIO, TypeAlias

import numpy as np

from blockml.decision.decide import Decision, decide
from blockml.document.text import render_text
from blockml.errors import InputError, UsageError
from blockml.extractors import Extractor
from blockml.extractors.registry import AnyModel, load
from blockml.formats import find_chunks, render
from blockml.options import Options
from blockml.page import Extraction, Image, Label, Page, Paragraph, Post, Status
from blockml.page.lazy import Lazy
from blockml.page.page import Deferred, Metadata
from blockml.parsing import Limits, parse
from blockml.parsing.backends import ParserTree, is_tree, tree_bytes
from blockml.parsing.decoding import Detector
from blockml.parsing.displayed import as_laid_out
from blockml.parsing.hiding import mark_hidden
from blockml.records import page_record
from blockml.text.words import lazy_pattern

if TYPE_CHECKING:
    from blockml.document.nodes import Document
    from blockml.document.pictures import Pictures
    from blockml.outline import Outline
    from blockml.rules import AnyRules, RuleMatches

__all__ = ["MAX_WORDS", "AnyHtml", "content_in_scripts", "extract", "extract_page", "extract_with"]


#: Types of page that :func:`extract` accepts.
AnyHtml: TypeAlias = "bytes | bytearray | memoryview | str | os.PathLike[str] | BinaryIO | TextIO | ParserTree"

#: Options of most calls.
_DEFAULTS = Options()
#: A ``str`` that is a URL or may be the name of a page file.
_URL_OR_NAME = re.compile(r"(https?://\S+)|[^<>\s]+", re.IGNORECASE)


def extract(
    html: AnyHtml,
    *,
    url: str | None = None,
    charset: str | None = None,
    model: AnyModel = "default",
    threshold: float | None = None,
    favour: str | None = None,
    include: str | Iterable[str] = _DEFAULTS.include,
    exclude: str | Iterable[str] = _DEFAULTS.exclude,
    rules: AnyRules | None = None,
    hidden: str | None = None,
    limits: Limits = _DEFAULTS.limits,
    detector: Detector | None = None,
    backend: str | None = None,
) -> Extraction:
    """Extract the main content of a page.

    A bad page never raises; ``Extraction.status`` gives the outcome.

    Parameters
    ----------
    html
        The page as bytes (best, because the encoding is then detected) or str; a :class:`~pathlib.Path` or an open
        file, decompressed according to its suffix; or an lxml tree or a parsel selector, which is serialised and parsed
        again: see :mod:`blockml.parsing.backends` for what is lost.
    url
        URL of the page; recorded, not fetched.
    charset
        Encoding declared by the transport (HTTP header Content-Type), if any.
    model
        Name of a released model or untrained extractor, path of a model file, ``module:Class`` of a custom extractor;
        or the result of :func:`blockml.load` or :func:`blockml.train`, or a fitted
        :class:`blockml.estimators.BlockClassifier`.
        Load a model *file* once with :func:`blockml.load` if you use it for many pages.
    threshold
        Minimum score to keep a block, instead of 0.5: lower for recall, higher for precision.
    favour
        ``precision`` or ``recall``, instead of ``threshold``: see :data:`blockml.options.FAVOURED`.
    include
        Names of labels (:class:`~blockml.page.Label`) whose blocks are kept whatever their score.
    exclude
        Names of labels whose blocks are left out whatever their score.
    rules
        Rules by site that keep and drop elements and read metadata: a TOML file or a mapping, see
        :func:`blockml.rules.read_rules` and ``docs/rules.md``.
    hidden
        What happens to text that no reader sees, because an attribute, a style or a simple rule of a ``style`` element
        hides it: ``keep`` (all that the model keeps), ``drop``, or ``mark`` (kept, as ``[hidden: text]``). By default
        tabs, accordions and other content that a script shows are kept, and the rest is dropped.
    limits
        Bounds on bytes, nodes, blocks and depth.
    detector
        Function that guesses the encoding of bytes that declare none and are not UTF-8; replaces blockml's own
        detector.
    backend
        HTML parser (``lxml``, ``lexbor`` or ``html5lib``), instead of the one that parsed the model's training pages.

    Raises
    ------
    UsageError
        ``html`` has another type, or is a URL, a file name or a list of file names; an option has an invalid value; or
        ``include`` or ``exclude`` is given and the extractor has no block labels.
    InputError
        The file can't be read.
    ModelError
        The model can't be used.

    Examples
    --------
    >>> import blockml
    >>> result = blockml.extract("<p>Nothing but one short line.</p>", model="kim2013")
    >>> result.status, len(result.scores), 0 <= result.confidence <= 1
    (<Status.NO_CONTENT: 'no_content'>, 1, True)
    """
    options, chosen = _DEFAULTS, (threshold, favour, rules, hidden, backend, detector)
    of_default = include is options.include and exclude is options.exclude and limits is options.limits
    if not of_default or chosen.count(None) < len(chosen):
        options = Options(
            threshold=threshold, favour=favour, include=include, exclude=exclude, rules=rules, hidden=hidden,
            limits=limits, backend=backend, detector=detector,
        )  # fmt: skip
    return extract_with(options, options.adapted(load(model)), html, url=url, charset=charset)


def extract_with(
    options: Options, extractor: Extractor, html: AnyHtml, *, url: str | None, charset: str | None
) -> Extraction:
    """Extract the main content of a page with an extractor already adapted to the options; see :func:`extract`."""
    if isinstance(html, os.PathLike) or hasattr(html, "read"):
        html = _read(html, options.read_limit)
    elif not isinstance(html, bytes | bytearray | memoryview | str):
        if not is_tree(html):
            raise UsageError(
                f"html must be bytes, str, a path, an open file, an lxml tree or a selector, got {type(html).__name__}"
            )
        html, charset = tree_bytes(html), "utf-8"
    if isinstance(html, str) and (match := _URL_OR_NAME.fullmatch(html)):
        _check_is_page(html, is_url=match[1] is not None)
    parsing = extractor.parsing.options()
    if isinstance(html, bytearray | memoryview):
        html = bytes(html)
    page = parse(html, url=url, charset=charset, limits=options.limits, detector=options.detector, **parsing)
    return extract_page(page, extractor, options)


def _check_is_page(word: str, *, is_url: bool) -> None:
    """Raise UsageError if a text without white space and tags is a URL or the name of a page file."""
    from blockml.archives.kinds import page_stem  # few pages are one word

    if is_url or page_stem(word):
        what = "a URL; fetch the page and pass its bytes" if is_url else "the name of a file; pass a Path"
        raise UsageError(f"html must be a page, but {word!r} is {what}")


def _read(source: Any, limit: int) -> bytes | str:  # noqa: ANN401 (a path or an open file)
    """Read at most ``limit`` bytes or characters of a page; imports the modules on first use."""
    from blockml.archives.compression import read_file
    from blockml.archives.kinds import is_list_of_pages, is_table_of_pages

    try:
        data = read_file(Path(source), limit) if isinstance(source, os.PathLike) else source.read(limit)
    except OSError as error:
        raise InputError(getattr(error, "strerror", None) or str(error), source=source) from error
    if isinstance(source, os.PathLike) and is_list_of_pages(data):
        raise UsageError("html must be a page, but is a list of pages; pass them to blockml.predict", source=source)
    if isinstance(source, os.PathLike) and is_table_of_pages(os.fsdecode(source), data):
        raise UsageError("html must be a page, but is a table of pages; pass it to blockml.predict", source=source)
    if not isinstance(data, bytes | str):
        raise UsageError(f"html must be an open file of bytes or text, got {type(source).__name__}")
    return data


def extract_page(page: Page, extractor: Extractor, options: Options = Options()) -> Extraction:  # noqa: B008 (frozen)
    """Extract the main content of a parsed page, using only the options that affect the decision."""
    labels = dict[str, frozenset[Label]]()
    if options.include or options.exclude:
        labels["include"], labels["exclude"] = options.labels(extractor)
    extractor = extractor.at_page(page)
    policy = extractor.policy
    if options.threshold is not None or options.favour is not None or options.hidden is not None:
        policy = options.policy(policy)
    prediction = extractor.predict(page)
    decision, rules, matches = decide(policy, page, prediction, **labels), options.rules or extractor.rules, None
    if rules is not None:
        from blockml.rules import apply_rules  # only if some are given

        decision, matches = apply_rules(rules, page, decision)
    if options.hidden == "mark":
        page = mark_hidden(page, decision.kept)
    status = page.status
    if status is Status.OK and not decision.kept.any():
        status = Status.NO_CONTENT
    metadata, warnings = Lazy(partial(_metadata, page, decision, rules)), dict[str, None]()
    pictures = Lazy(partial(_pictures, page, decision, matches))
    outline = None if prediction.matrix is None else prediction.matrix.context.outline
    deferred = Deferred(
        metadata=metadata,
        title=Lazy(partial(_title, page, metadata, rules)),
        document=Lazy(partial(_document, page, decision, pictures, outline)),
        paragraphs=Lazy(partial(_paragraphs, page, decision, warnings, removed=False)),
        removed=Lazy(partial(_paragraphs, page, decision, warnings, removed=True)),
        posts=Lazy(partial(_posts, page, decision)),
        images=Lazy(partial(_images, page, decision, pictures, warnings)),
        warnings=warnings,
        comments=Lazy(partial(_comments, page, decision)),
        render=render,
        record=page_record,
        chunks=find_chunks,
    )
    return Extraction(
        status=status,
        text=render_text(page, decision.kept, outline=outline if outline and outline.page is page else None),
        page=page,
        probabilities=decision.probabilities,
        scores=decision.scores,
        kept=decision.kept,
        reasons=decision.reasons,
        confidence=decision.confidence,
        model=extractor.id,
        article_probability=prediction.p_article,
        remarks=(*prediction.remarks, *decision.remarks, *_about_scripts(page, decision)),
        labels=decision.labels,
        rules=matches,
        _deferred=deferred,
    )


def _about_scripts(page: Page, decision: Decision) -> tuple[str, ...]:
    """Return a remark if there is hardly any text because scripts have it."""
    n_words = int(np.add.reduce(page.blocks.n_words[decision.kept]))
    if n_words > MAX_WORDS:
        return ()
    remark = content_in_scripts(page, n_words)
    return (remark,) if remark else ()


def _metadata(page: Page, decision: Decision, rules: AnyRules | None = None) -> Metadata:
    """Read the metadata; the modules are imported when somebody asks for it."""
    from blockml.metadata.metadata import page_metadata

    found = page_metadata(page, decision.kept)
    if rules is None:
        return found
    from blockml.rules import metadata_by_rules

    return metadata_by_rules(rules, page, found)


def _title(page: Page, metadata: Lazy[Metadata], rules: AnyRules | None = None) -> str | None:
    """Find the headline only, by rules or without, unless all metadata were read."""
    if metadata.is_known:
        return metadata.value.title
    from blockml.metadata.metadata import page_headline

    if rules is None:
        return page_headline(page)
    from blockml.rules import title_by_rules

    return title_by_rules(rules, page) or page_headline(page)


def _pictures(page: Page, decision: Decision, matches: RuleMatches | None = None) -> Pictures:
    """Find the pictures of the content, for the document and the list of pictures."""
    from blockml.document.pictures import find_pictures

    found = find_pictures(page, np.flatnonzero(decision.kept))
    removed = None if matches is None else matches.removed_nodes
    return found if removed is None else found.without(removed)


def _document(page: Page, decision: Decision, pictures: Lazy[Pictures], outline: Outline | None) -> Document:
    """Build the document; imports the modules on first use."""
    from blockml.document.build import build_document

    spans = as_laid_out(page.nodes)
    shown = page if spans is None else replace(page, nodes=spans)
    return build_document(shown, decision.kept, pictures, decision.posts, outline)


def _paragraphs(page: Page, decision: Decision, warnings: dict[str, None], *, removed: bool) -> tuple[Paragraph, ...]:
    """Group the kept or the removed blocks into paragraphs; imports the modules on first use."""
    from blockml.document.paragraphs import find_paragraphs
    from blockml.page.bounds import Budget

    budget = Budget(page)
    found = find_paragraphs(page, decision.kept, decision.scores, decision.labels, removed=removed, budget=budget)
    warnings.update(dict.fromkeys(budget.warnings))
    return found


def _posts(page: Page, decision: Decision) -> tuple[Post, ...]:
    """Group the kept blocks into posts; imports the modules on first use."""
    from blockml.document.paragraphs import kept_posts
    from blockml.posts import find_posts

    return kept_posts(page, decision.kept, decision.posts or find_posts(page))


def _comments(page: Page, decision: Decision) -> str:
    """Render the removed blocks that are readers' comments."""
    if decision.labels is None:
        return ""
    is_comment = np.fromiter((label is Label.COMMENT for label in decision.labels), dtype=bool, count=len(page.blocks))
    return render_text(page, is_comment & ~decision.kept)


def _images(page: Page, decision: Decision, pictures: Lazy[Pictures], warnings: dict[str, None]) -> tuple[Image, ...]:
    """Describe the pictures of the content; imports the modules on first use."""
    from blockml.document.pictures import find_images
    from blockml.page.bounds import Budget

    budget = Budget(page)
    found = find_images(page, decision.kept, found=pictures.value, budget=budget)
    warnings.update(dict.fromkeys(budget.warnings))
    return found


#: Maximum words of a text for which scripts are searched: a page with more has content of its own (our choice).
MAX_WORDS = 30
#: Data that frameworks and sites embed for their scripts, by the name that the message shows.
_DATA = lazy_pattern(
    rb"""<script\b[^>]{0,400}?\bid\s*=\s*["']?(?P<id>__NEXT_DATA__|__NUXT_DATA__|ng-state|serverApp-state|___gatsby"""
    rb"""|data-deferred-state[\w-]{0,40}|shoebox[\w-]{0,40}|__APP_DATA__|__FRSH_STATE|app-data)\b"""
    rb"""|(?P<name>self\.__next_f|__NUXT__|__INITIAL_STATE__|__INITIAL_DATA__|__PRELOADED_STATE__|__APOLLO_STATE__"""
    rb"""|__remixContext|__reactRouterContext|__sveltekit_\w{1,40}|__SERVER_DATA__|__DATA__|ytInitialData)"""
    rb"""\s*(?:=[^=]|\.push\b|\?\?=|=\s*\S)""",
    re.IGNORECASE,
)
#: One of these is in each of the names, and is found faster than a name.
_IN_NAMES = (
    b"_data__ _state__ frsh_state ng-state app-state deferred-state ___gatsby shoebox app-data __next_f __nuxt__ "
    b"remixcontext routercontext __sveltekit_ ytinitialdata"
).split()
#: An element without content that an application fills, by its id.
_EMPTY = lazy_pattern(
    rb"""<(div|main|section|app-root)\b(?:[^>]{0,400}?\bid\s*=\s*["']?(?P<id>root|app|__next|__nuxt|main|react-root|svelte)"""
    rb"""["']?(?=[\s>/])[^>]{0,400})?>\s*</\1\s*>""",
    re.IGNORECASE,
)
#: A script with an address, or one of the page itself that is more than a call or two.
_SCRIPT_ELEMENT = lazy_pattern(rb"<script\b[^>]{0,2000}\bsrc\s*=|<script\b[^>]{0,2000}>[^<]{400}", re.IGNORECASE)
#: Two words next to each other in embedded data.
_PROSE = lazy_pattern(rb"[a-z\x80-\xff],? [a-z\x80-\xff]", re.IGNORECASE)
#: Minimum bytes of data, and minimum pairs of words for each word of a text that was found besides.
_MIN_DATA, _MIN_PAIRS = 100, 2


def content_in_scripts(page: Page, n_words: int) -> str:
    """Return a remark if a page with hardly any text has its content in scripts; empty otherwise.

    Parameters
    ----------
    page
        The parsed page.
    n_words
        Number of words that were extracted from it.

    Examples
    --------
    >>> import blockml
    >>> text = "Cats rule the world. " * 9
    >>> data = f'<script id="__NEXT_DATA__" type="application/json">{{"body": "{text}"}}</script>'
    >>> content_in_scripts(blockml.parse("<div id=__next></div>" + data), 0)
    'the content is in scripts (__NEXT_DATA__), which are not run: save the page from a browser'
    >>> content_in_scripts(blockml.parse("<p>Cats"), 1)
    ''
    """
    if page.utf8 is None or n_words > MAX_WORDS or "script" not in page.nodes.names:
        return ""
    lower = page.utf8.lower()
    if any(name in lower for name in _IN_NAMES) and (found := _DATA.search(page.utf8)):
        data = page.utf8[found.start() :]
        is_more = n_words == 0 or len(_PROSE.findall(data)) >= _MIN_PAIRS * n_words + MAX_WORDS
        if len(data) >= _MIN_DATA and is_more:
            name = (found["id"] or found["name"]).decode()
            return f"the content is in scripts ({name}), which are not run: save the page from a browser"
    if n_words == 0 and (found := _EMPTY.search(page.utf8)) and _SCRIPT_ELEMENT.search(page.utf8):
        name = f"#{found['id'].decode()}" if found["id"] else found[1].decode()
        if found["id"] or name == "app-root":
            return f"scripts, which are not run, fill the page (empty element {name}): save it from a browser"
    return ""
