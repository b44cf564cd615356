"""Instructions of an extraction and its outputs, counted by valgrind, which repeat where times do not.

Each statement is run on the same pages in two processes, one of which makes one more pass; the difference is divided by
the number of pages. Another checkout, compiled in place, is counted for comparison. valgrind must be on the path; it
emulates processors up to AVX2.

    python -m research.benchmarks.speed.instructions --other ../other-checkout
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from blockml.cli.output import write_output
from blockml.errors import check_name
from research.benchmarks.speed.pages import sample
from research.benchmarks.speed.tables import markdown

#: Model and statement of what is counted for a page; metadata and Markdown follow the text, as in a batch.
_COUNTED = {
    "lxml's parse": ("plain", "etree.fromstring(page, etree.HTMLParser(encoding='utf-8'))"),
    "text": ("default", "extract(page).text"),
    "text and metadata": ("default", "result = extract(page); result.text; result.metadata"),
    "text and Markdown": ("default", "result = extract(page); result.text; result.markdown"),
    "text of kim2013": ("kim2013", "extract(page).text"),
}
_PROGRAM = """
import gc, sys
from functools import partial
from pathlib import Path
from lxml import etree
import blockml
checkout, folder, n_passes = sys.argv[1:]
if not Path(blockml.__file__).is_relative_to(checkout):
    sys.exit(f"{{blockml.__file__}} is not below {{checkout}}")
pages = [path.read_bytes() for path in sorted(Path(folder).iterdir())]
extract = partial(blockml.extract, model=blockml.load("{model}"))
for number in range(2 + int(n_passes)):
    if number == 2:
        gc.collect()
        gc.disable()
    for page in pages:
        {statement}
"""


def instructions(checkout: Path, folder: Path, name: str) -> int:
    """Count the instructions of one of the statements, a page of a folder, by the blockml of a checkout."""
    model, statement = _COUNTED[name]
    program = _PROGRAM.format(model=model, statement=statement)
    counts = []
    for n_passes in ("0", "1"):
        run = subprocess.run(  # noqa: S603 (this Python, and the program above)
            ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null",  # noqa: S607 (wherever it is)
             sys.executable, "-P", "-c", program, str(checkout), str(folder), n_passes],
            env={**os.environ, "PYTHONPATH": str(checkout), "PYTHONHASHSEED": "0", "OPENBLAS_NUM_THREADS": "1"},
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        found = re.search(r"Collected : (\d+)", run.stderr)
        if run.returncode or found is None:
            raise RuntimeError(run.stderr[-1000:])
        counts.append(int(found[1]))
    return (counts[1] - counts[0]) // len(list(folder.iterdir()))


def main(argv: Sequence[str] | None = None) -> int:
    """Count, and print a table."""
    parser = argparse.ArgumentParser(prog="python -m research.benchmarks.speed.instructions", description=__doc__)
    parser.add_argument("names", nargs="*", default=[], metavar="NAME", help=f"of {', '.join(_COUNTED)} (default: all)")
    parser.add_argument("--other", type=Path, help="another checkout")
    parser.add_argument("--corpora", default=os.environ.get("BLOCKML_CORPORA", ""))
    parser.add_argument("--dataset", default="wcxb", help="folder of the data set within it (default: %(default)s)")
    parser.add_argument("--pages", type=int, default=24)
    parser.add_argument("--kilobytes", type=float, nargs=2, default=(20, 200), metavar=("FROM", "TO"))
    options = parser.parse_args(argv)
    own = Path(__file__).resolve().parents[3]
    for wanted in options.names:
        check_name("name", wanted, _COUNTED)
    checkouts = {"other": options.other.resolve(), "this": own} if options.other else {"this": own}
    drawn = sample(Path(options.corpora) / options.dataset, options.pages, tuple(options.kilobytes))
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for number, page in enumerate(drawn):
            (Path(folder) / f"{number:04}.html").write_bytes(page.html)
        for wanted in options.names or _COUNTED:
            counts = {which: instructions(path, Path(folder), wanted) for which, path in checkouts.items()}
            rows.append({"": wanted} | {which: f"{count / 1000:,.0f}" for which, count in counts.items()})
    write_output(f"thousand instructions a page, {len(drawn)} pages\n\n{markdown(rows)}\n", None)
    return 0


if __name__ == "__main__":
    sys.exit(main())
