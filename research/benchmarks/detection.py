"""Measures the detection of encodings on pages of the labelled collections, without their declarations.

Each page of a script other than Latin is written in the encodings of its script, and each Latin page in windows-1252;
the detector must name the encoding from the bytes. Its tables are made from the sites of one half of the collections
and measured on the other half, in turns. ``--detectors`` also measures functions of other packages, such as
``chardet:detect`` and ``charset_normalizer:detect``, which return a name or a mapping with it. A detector is right if
the page is decoded correctly. ``--tables`` prints the tables for ``blockml/parsing/decoding.py``.
"""

from __future__ import annotations

import argparse
import importlib
import os
import re
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import webencodings

from blockml.datasets import open_dataset
from blockml.errors import BlockmlError
from blockml.parsing.decoding import decode, detected
from research.benchmarks.default import markdown

#: Letters of each script.
LETTERS = {
    "Cyrillic": "\u0400-\u04ff", "Greek": "\u0370-\u03ff", "Arabic": "\u0620-\u06ff",
    "Japanese": "\u3040-\u30ff\u4e00-\u9fff", "simplified Chinese": "\u4e00-\u9fff",
    "traditional Chinese": "\u4e00-\u9fff", "Korean": "\uac00-\ud7af",
}  # fmt: skip
ALPHABETS = frozenset({"Cyrillic", "Greek", "Arabic"})
ENCODINGS = {
    "Cyrillic": ("windows-1251", "koi8-r"), "Greek": ("windows-1253",), "Arabic": ("windows-1256",),
    "Japanese": ("shift_jis", "euc-jp"), "simplified Chinese": ("gb18030",), "traditional Chinese": ("big5",),
    "Korean": ("euc-kr",),
}  # fmt: skip
#: Characters that only one of the two Chinese scripts has.
_TRADITIONAL, _SIMPLIFIED = "[這個們為說來時國會對學發後過裡]", "[这个们为说来时国会对学发后过里]"
_MARKUP = re.compile(r"<(script|style)\b.*?</\1>|<!--.*?-->|<[^>]*>", re.DOTALL | re.IGNORECASE)
#: Declarations of an encoding, by ``meta`` and XML.
_DECLARED = re.compile(r"\b(?:charset|encoding)\s*=\s*[\"']?\s*[\w-]+", re.IGNORECASE)
_PAIRS, _CHARACTERS = 120, 200
#: Encodings of the web by names of extended ones that Python has and the web doesn't.
_EXTENDED = {"euc_jis_2004": "euc-jp", "euc_jisx0213": "euc-jp", "shift_jis_2004": "shift_jis", "johab": "euc-kr"}


@dataclass(frozen=True)
class Sample:
    """A page, its script (empty for Latin), and its text without markup."""

    name: str
    script: str
    page: str
    text: str

    @property
    def half(self) -> int:
        """The half of the collections that the page's site is in."""
        return sum(re.sub(r"(_\d+|--\d+)\Z", "", self.name).encode()) % 2


def script_of(text: str) -> str | None:
    """Return the script of a text, empty for Latin; None if it has too few letters."""

    def count(letters: str) -> int:
        return len(re.findall(f"[{letters}]", text))

    n_latin, n_kana, n_ideographs = count("a-zA-Z"), count("\u3040-\u30ff"), count("\u4e00-\u9fff")
    counts = {script: count(LETTERS[script]) for script in ("Cyrillic", "Greek", "Arabic", "Korean")}
    script = max(counts, key=lambda name: counts[name])
    if n_kana + n_ideographs > counts[script]:
        counts[script := "Japanese" if n_kana > 0.1 * n_ideographs else "simplified Chinese"] = n_kana + n_ideographs
        if script != "Japanese" and len(re.findall(_TRADITIONAL, text)) > len(re.findall(_SIMPLIFIED, text)):
            counts[script := "traditional Chinese"] = n_ideographs
    if counts[script] >= 50 and counts[script] > 0.1 * n_latin:
        return script
    return "" if n_latin > 200 else None


def samples(corpora: Path) -> Iterator[Sample]:
    """Iterate over the pages of all collections that are not in ASCII and whose encoding is certain."""
    for folder in sorted(path for path in corpora.iterdir() if path.is_dir()):
        try:
            pages = open_dataset(folder).pages
        except BlockmlError:  # not a collection of pages
            continue
        for labelled in pages:
            source, _ = labelled.load()
            read = decode(source)
            if source.isascii() or not read.is_text or read.source in ("detector", "fallback"):
                continue
            text = _MARKUP.sub(" ", read.text)
            if (script := script_of(text)) is not None:
                page = _DECLARED.sub("", read.text)
                yield Sample(f"{folder.name}/{labelled.id}", script, page, text if script else "")


def frequent(texts: Sequence[str], script: str) -> list[str]:
    """Return the most frequent characters, or pairs of letters, of some texts, which all have the same weight."""
    counts: dict[str, float] = defaultdict(float)
    for text in texts:
        runs = re.findall(f"[{LETTERS[script]}]+", text)
        units = [run[i : i + 2] for run in runs for i in range(len(run) - 1)] if script in ALPHABETS else "".join(runs)
        for unit, n in Counter(units).items():
            counts[unit] += n / len(units)
    return sorted(counts, key=counts.__getitem__, reverse=True)[: _PAIRS if script in ALPHABETS else _CHARACTERS]


def tables(pages: Sequence[Sample]) -> Mapping[str, frozenset[str]]:
    """Return the frequent characters or pairs of some pages by encoding."""
    return {
        encoding: frozenset(frequent([page.text for page in pages if page.script == script], script))
        for script, encodings in ENCODINGS.items()
        for encoding in encodings
    }


def named_detector(name: str) -> Callable[[bytes], str | None]:
    """Return a detector named as MODULE:FUNCTION, as a function from bytes to the encoding."""
    module, _, function = name.partition(":")
    detect = getattr(importlib.import_module(module), function)

    def label(source: bytes) -> str | None:
        guess: str | Mapping[str, str | None] | None = detect(source)
        found = guess["encoding"] if isinstance(guess, Mapping) else guess
        return None if found is None else _EXTENDED.get(found, found)

    return label


def measured(
    pages: Sequence[Sample], chosen: Sequence[Sample], others: Mapping[str, Callable[[bytes], str | None]]
) -> list[dict[str, Any]]:
    """Return a row for each encoding: the chosen pages on which each detector is right, and its ms a page."""
    held_out = [tables([page for page in pages if page.half != half]) for half in (0, 1)]
    counts: dict[tuple[str, str], dict[str, float]] = defaultdict(lambda: defaultdict(float))
    for page in chosen:
        for encoding in ENCODINGS.get(page.script, ("windows-1252",)):
            codec: Any = webencodings.lookup(encoding)
            source, _ = codec.codec_info.encode(page.page, "xmlcharrefreplace")
            if source.isascii():
                continue
            text = codec.codec_info.decode(source)[0]
            row = counts[page.script or "Latin", encoding]
            row["pages"] += 1
            detectors = {"held out": lambda data: detected(data, held_out[page.half]), "blockml": detected, **others}  # noqa: B023
            for name, detector in detectors.items():
                begin = time.process_time()
                guess = detector(source)
                row[f"{name}, ms"] += time.process_time() - begin
                row[name] += decode(source, detector=lambda _: guess).text == text  # noqa: B023
    return [
        {"script": script, "encoding": encoding}
        | {key: f"{1000 * n / row['pages']:.1f}" if key.endswith("ms") else int(n) for key, n in row.items()}
        for (script, encoding), row in counts.items()
    ]


def main(argv: Sequence[str] | None = None) -> int:
    """Print the measures or the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corpora", type=Path, default=os.environ.get("BLOCKML_CORPORA"))
    parser.add_argument("--detectors", nargs="*", default=[], metavar="MODULE:FUNCTION")
    parser.add_argument("--every", type=int, default=1, help="measure only every n-th page of other scripts")
    parser.add_argument("--latin-every", type=int, default=1, help="measure only every n-th Latin page")
    parser.add_argument("--tables", action="store_true")
    arguments = parser.parse_args(argv)
    pages = list(samples(arguments.corpora))
    if arguments.tables:
        for script in ENCODINGS:
            units = frequent([page.text for page in pages if page.script == script], script)
            print(script, (" " if script in ALPHABETS else "").join(units), sep=": ")
        return 0
    chosen = [page for page in pages if page.script][:: arguments.every]
    chosen += [page for page in pages if not page.script][:: arguments.latin_every]
    others = {name: named_detector(name) for name in arguments.detectors}
    print(markdown(measured(pages, chosen, others)))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
