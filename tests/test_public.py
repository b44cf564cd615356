"""Public interface: names, docstrings, imports, dependencies and threads."""

from __future__ import annotations

import ast
import copy
import itertools
import pickle
import re
import subprocess
import sys
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields
from functools import cache
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import blockml
from blockml.datasets import Dataset, LabelledPage, TextGold
from blockml.estimators import GroupFolds
from blockml.extractors import TrainedExtractor, resolve, trained
from blockml.features import matrix
from blockml.model import score_page
from blockml.page import Status
from tests.models import small_model

PACKAGE = Path(blockml.__file__).parent
MODULES = sorted(PACKAGE.rglob("*.py"))


def test_all_is_sorted_and_complete() -> None:
    """Every public name of the package is listed, and every listed name exists."""
    for name in blockml.__all__:  # some are imported when they are first used
        getattr(blockml, name)
    public = {
        name for name, value in vars(blockml).items() if not name.startswith("_") and not isinstance(value, ModuleType)
    }
    assert blockml.__all__ == sorted(blockml.__all__)
    assert set(blockml.__all__) == public
    assert re.fullmatch(r"\d+\.\d+\.\d+\S*", blockml.__version__)


@cache
def tree_of(path: Path) -> ast.Module:
    """Return the syntax tree of a module."""
    return ast.parse(path.read_text(encoding="utf-8"))


def listed(tree: ast.Module) -> list[str] | None:
    """Return ``__all__`` of a module."""
    for statement in tree.body:
        if isinstance(statement, ast.Assign) and any(
            isinstance(t, ast.Name) and t.id == "__all__" for t in statement.targets
        ):
            names: list[str] = ast.literal_eval(statement.value)
            return names
    return None


#: Public names of each package, by its folder.
ENTRIES = {path.parent: listed(tree_of(path)) or [] for path in MODULES if path.name == "__init__.py"}


def top_level(tree: ast.Module) -> set[str]:
    """Return the names that a module's statements bind."""
    names: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case ast.ClassDef() | ast.FunctionDef():
                names.add(node.name)
            case ast.Import() | ast.ImportFrom():
                names |= {alias.asname or alias.name for alias in node.names}
            case ast.Name(ctx=ast.Store()):
                names.add(node.id)
    return names


def test_modules_list_their_names() -> None:
    """Names in ``__all__`` exist and occur once; only packages and modules that users import from have the list."""
    for path in MODULES:
        if names := listed(tree_of(path)):
            assert len(names) == len(set(names)), path
            assert set(names) <= top_level(tree_of(path)), path


def test_public_classes_and_functions_have_docstrings() -> None:
    """Every module, public class and public function has a docstring."""
    missing = [str(path) for path in MODULES if tree_of(path).body and not ast.get_docstring(tree_of(path))]
    waiting: list[ast.AST] = [tree_of(path) for path in MODULES]
    while waiting:
        for child in ast.iter_child_nodes(waiting.pop()):
            if isinstance(child, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and not child.name.startswith(
                "_"
            ):
                if not ast.get_docstring(child):
                    missing.append(child.name)
                if isinstance(child, ast.ClassDef):
                    waiting.append(child)
    assert missing == []


#: Names that several modules of a package define, because the package reads them from each module.
INTERFACES = {"COLUMNS": "features", "COMMANDS": "cli"}


def definitions(statements: list[ast.stmt]) -> Iterator[str]:
    """Yield the public names that statements of a module define: classes, functions, constants and aliases."""
    for node in statements:
        match node:
            case ast.ClassDef() | ast.FunctionDef() | ast.AsyncFunctionDef():
                yield node.name
            case ast.Assign() | ast.AnnAssign():
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                yield from (name.id for target in targets for name in ast.walk(target) if isinstance(name, ast.Name))
            case ast.If() | ast.Try():
                yield from definitions(node.body + node.orelse)


def test_a_public_name_has_one_definition() -> None:
    """No public name is defined in two modules, because what two modules need is imported."""
    modules = defaultdict[str, list[str]](list)
    for path in MODULES:
        tree = tree_of(path)
        for name in set(definitions(tree.body)):
            package = path.relative_to(PACKAGE).parts[0]
            is_node = path == PACKAGE / "document" / "nodes.py"  # named as in HTML, and read as nodes of a document
            if not name.startswith("_") and INTERFACES.get(name) != package and not is_node:
                modules[name].append(str(path.relative_to(PACKAGE)))
    assert len(modules) > 1000
    assert {name: paths for name, paths in modules.items() if len(paths) > 1} == {}


#: Names of several modules: the same idea in several packages, such as block types and their training.
SHARED_NAMES = {"__init__", "block_types", "comparing", "metadata", "nodes", "text"}


def test_a_module_is_found_by_its_name() -> None:
    """No two modules have the same name, and no name in the entry of a package hides a module of it."""
    names = Counter(path.stem for path in MODULES)
    assert {name for name, count in names.items() if count > 1} == SHARED_NAMES
    hidden = {str(path.relative_to(PACKAGE)) for path in MODULES if path.stem in ENTRIES[path.parent]}
    assert hidden == {"extract.py"}  # the module of the first function that users meet


def test_names_are_imported_from_entries() -> None:
    """Documentation, tests and tools import a name from the entry of its package that has it: modules can be moved."""
    statement = re.compile(r"^ *from (blockml\.[\w.]+) import (\([^)]*|[^\n(]*)", re.MULTILINE)
    wrong = []
    root = PACKAGE.parent
    files = [path for name in ("docs", "tests", "tools") for path in (root / name).rglob("*")]
    for path in (path for path in files if path.suffix in {".md", ".py"}):
        for module, names in statement.findall(path.read_text(encoding="utf-8")):
            place = root.joinpath(*module.split("."))
            public = set[str]() if place in ENTRIES else {*ENTRIES[place.parent]} - {*INTERFACES}
            wrong += [f"{path.name}: {module}.{name}" for name in re.findall(r"\w+", names) if name in public]
    assert wrong == []


def imports(tree: ast.Module) -> set[str]:
    """Return the modules that a module imports anywhere, and the names from them."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return names


def test_only_back_ends_call_html_parsers() -> None:
    """Only the back ends call HTML parsers."""
    back_ends = {"parsing/backends.py", "parsing/html5lib_tree.py", "parsing/lexbor.py"}
    with_blank_texts = {"datasets/label_studio.py"}  # its paths count the white space between tags as texts
    parsers = {"html5lib", "html.parser", "lxml.html", "bs4", "selectolax", "html5_parser", "xml.dom", "xml.sax"}
    parses = {"HTMLParser", "HTMLPullParser", "HTML", "document_fromstring", "fragment_fromstring", "fromstring"}
    for path in MODULES:
        if path.relative_to(PACKAGE).as_posix() in back_ends | with_blank_texts:
            continue
        imported = imports(tree_of(path))
        assert not {name for name in imported if any(f"{name}.".startswith(f"{parser}.") for parser in parsers)}, path
        called = {
            node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            for node in ast.walk(tree_of(path))
            if isinstance(node, ast.Call)
        }
        assert not called & parses, path


#: Packages and modules that train, evaluate or learn sites.
LEARNING = (
    "training/",
    "estimators/",
    "templates/clustering/",
    "templates/distances/",
    "templates/mapping/etdm.py",
    "evaluation/",
    "extractors/extractor.py",  # tags for scikit-learn's model selection, made on request
)


def test_scikit_learn_is_only_imported_for_learning() -> None:
    """Modules that only predict do not import scikit-learn, SciPy or pandas."""
    for path in MODULES:
        if not path.relative_to(PACKAGE).as_posix().startswith(LEARNING):
            packages = {name.partition(".")[0] for name in imports(tree_of(path))}
            assert not packages & {"sklearn", "scipy", "pandas"}, path


def test_import_is_light() -> None:
    """Importing blockml and parsing a page in a fresh interpreter loads no package for training or charts."""
    heavy = ["sklearn", "scipy", "pandas", "joblib", "matplotlib", "html5lib", "selectolax"]
    code = f"import sys, blockml\nblockml.parse('<p>x</p>')\nprint([name for name in {heavy} if name in sys.modules])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)  # noqa: S603
    assert (run.returncode, run.stderr, run.stdout.strip()) == (0, "", "[]")


@pytest.mark.exhaustive
def test_no_import_uses_the_network() -> None:
    """Importing every module of blockml in a fresh interpreter opens no socket and looks up no name."""
    code = """
import importlib, pkgutil, socket, sys
def refuse(*arguments, **options):
    raise SystemExit(f"network: {arguments}")
socket.socket.connect = socket.socket.connect_ex = socket.getaddrinfo = socket.gethostbyname = refuse
socket.create_connection = refuse
import blockml
count = 0
for module in pkgutil.walk_packages(blockml.__path__, "blockml."):
    if module.name != "blockml.__main__":
        try:
            importlib.import_module(module.name)
            count += 1
        except ImportError:
            pass  # an optional package is missing
print(count)
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)  # noqa: S603
    assert run.returncode == 0, run.stderr
    assert int(run.stdout) > 150


def test_dependencies_have_no_upper_bounds() -> None:
    """Dependencies have no upper bounds, because a cap in a library causes conflicts for its users."""
    file = PACKAGE.parent / "pyproject.toml"
    if not file.is_file():
        pytest.skip("not a source tree")
    project = tomllib.loads(file.read_text(encoding="utf-8"))["project"]
    requirements = [*project["dependencies"], *itertools.chain(*project["optional-dependencies"].values())]
    assert requirements
    assert [text for text in [*requirements, project["requires-python"]] if re.search(r"<|==|~=|!=", text)] == []


def test_threads_share_a_model() -> None:
    """One thread and sixteen give the same results, in either order of first use."""
    model = TrainedExtractor(small_model())
    pages = [
        f"<title>{i}</title><ul><li><a href=/>Home</a></ul>"
        + "".join(f"<p>Text {j} of page {i} 你好 " + "word " * (i * j % 40) + "</p><b>*</b>" for j in range(20))
        for i in range(60)
    ]

    def run(page: str) -> tuple[object, ...]:
        result = blockml.extract(page.encode(), model=model)
        return (
            result.status,
            result.text,
            result.scores.tolist(),
            result.kept.tolist(),
            result.confidence,
            result.page.title,
        )

    with ThreadPoolExecutor(16) as pool:
        many = list(pool.map(run, pages))
    with ThreadPoolExecutor(1) as pool:
        one = list(pool.map(run, pages))
    assert many == one == [run(page) for page in pages]
    assert {status for status, *_ in many} == {Status.OK}


@pytest.mark.parametrize(
    ("html", "status"),
    [
        ("<p>" + "long enough to be kept " * 5, Status.OK),
        ("<p>short", Status.NO_CONTENT),
        ("", Status.EMPTY_PAGE),
        (b"%PDF-1.7", Status.UNDECODABLE),
    ],
)
def test_empty_text_has_a_status_that_says_why(html: str | bytes, status: Status) -> None:
    """A page without text has a status that says why, and consistent arrays."""
    result = blockml.extract(html, model=TrainedExtractor(small_model()))
    assert result.status is status
    assert bool(result.text) == (status is Status.OK)
    assert str(result) == result.text
    assert len(result.scores) == len(result.kept) == len(result.reasons) == len(result.page.blocks)
    assert result.scores.dtype == "float32"
    assert result.model == "tiny 1.2"


def test_threshold_of_the_call_overrides_the_model() -> None:
    """The threshold of a call overrides that of the model, and higher thresholds keep less."""
    html = "<p>one two three</p><p>" + "long enough to be kept " * 5 + "</p><p>x</p>"
    kept = [
        sum(blockml.extract(html, model=TrainedExtractor(small_model()), threshold=threshold).kept.tolist())
        for threshold in (0, 0.5, 0.8, 1)
    ]
    assert kept == [3, 2, 1, 0]
    assert sum(blockml.extract(html, model=TrainedExtractor(small_model(), threshold=0.8)).kept.tolist()) == 1


def test_page_cut_at_a_limit_is_truncated_even_without_text() -> None:
    """A page cut at a limit has the status TRUNCATED even if it has no text."""
    result = blockml.extract("<p>" + "x " * 50, model=TrainedExtractor(small_model()), limits=blockml.Limits(bytes=3))
    assert result.status is Status.TRUNCATED


def test_packages_import_only_from_packages_above() -> None:
    """Packages import only from packages above them in the table of the architecture page."""
    page = PACKAGE.parent / "docs" / "architecture.md"
    if not page.is_file():
        pytest.skip("not a source tree")
    table = page.read_text(encoding="utf-8").partition("## Packages")[2]
    order = [
        name.removesuffix(".py").removesuffix("/") for name in re.findall(r"^\| `([\w./]+)` \|", table, re.MULTILINE)
    ]
    order = order[: order.index("cli") + 1]
    upwards = []
    for path in MODULES:
        tree = tree_of(path)
        package = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
        if package.startswith("__"):
            continue
        for name in imports(tree):
            root, _, rest = name.partition(".")
            other = rest.partition(".")[0]
            names_type = path == PACKAGE / "page" / "page.py" and other in {
                "document",
                "rules",
            }  # of the document of an extraction
            if root == "blockml" and other in order and order.index(other) > order.index(package) and not names_type:
                upwards.append(f"{path.relative_to(PACKAGE)} imports {name}")
    assert upwards == []
    assert {path.relative_to(PACKAGE).parts[0].removesuffix(".py") for path in MODULES} - set(order) == {
        "__init__",
        "__main__",
    }


def test_an_extraction_imports_neither_templates_nor_training() -> None:
    """An extraction does not import modules for sites, training and evaluation."""
    code = (
        "import sys, blockml; blockml.extract('<p>One line of text</p>'); "
        "print(*sorted({name.split('.')[1] for name in sys.modules if name.startswith('blockml.')}))"
    )
    found = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)  # noqa: S603 (our own code)
    assert not {"templates", "training", "evaluation", "datasets", "reports", "batch", "cli"} & {*found.stdout.split()}


def test_an_extraction_loads_neither_openssl_nor_sockets() -> None:
    """Hashes of pages, locks of outputs and recipes are rare, and their modules take megabytes."""
    code = "import sys, blockml; blockml.extract('<p>One line of text', model='default'); print(*sys.modules)"
    found = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)  # noqa: S603 (our own code)
    assert not {"_hashlib", "hmac", "random", "socket", "html", "blockml.metadata.json_ld"} & {*found.stdout.split()}


#: Modules that plain text doesn't need.
LATER = ("batch", "cli", "datasets", "estimators", "evaluation", "labelling", "reports", "templates", "training")
LATER_OUTPUTS = ("build", "chunks", "inline", "mathematics", "nodes", "notes", "paragraphs", "pictures")


def test_plain_text_imports_no_other_output() -> None:
    """Markdown, HTML and paragraphs are imported only when they are requested."""
    code = (
        "import sys, blockml; blockml.extract('<p>Cats rule the world.', model='default').text;"
        "plain = set(sys.modules); result = blockml.extract('<p>Cats', model='plain');"
        "result.paragraphs, blockml.render(result, 'markdown'), blockml.render(result, 'html');"
        "print(*sorted(name for name in plain if name.startswith('blockml.')), '|', *(set(sys.modules) - plain))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603
    plain, later = (set(part.split()) for part in run.stdout.split("|"))
    unwanted = {f"blockml.document.{name}" for name in LATER_OUTPUTS} | {f"blockml.{name}" for name in LATER}
    assert not plain & (unwanted | {"blockml.writers"})
    assert {"blockml.writers.html", "blockml.writers.markdown", "blockml.document.paragraphs"} <= later


def test_the_package_shows_its_public_names_only() -> None:
    """Listing the package shows its public names only, without its modules."""
    shown = [name for name in dir(blockml) if not name.startswith("__")]
    assert shown == blockml.__all__


def test_lazy_values_are_not_fields_and_are_pickled() -> None:
    """Lazy values are not among the public fields of an extraction, but are pickled with it."""
    result = blockml.extract("<title>Cats</title><p>Cats rule the world.</p>", model="plain")
    assert not [field.name for field in fields(result) if "lazy" in field.name]
    loaded = pickle.loads(pickle.dumps(result))  # noqa: S301 (our own bytes)
    assert (loaded.title, loaded.paragraphs, loaded.removed) == (result.title, result.paragraphs, ())


def test_representations_are_short() -> None:
    """The representation of an object names it without its contents."""
    page = blockml.parse("<p>One <b>two</b>" * 500)
    dataset = Dataset("news", Path("news"), "folders", (LabelledPage("a", "a", Path("a"), TextGold("word " * 999)),))
    shown = {
        repr(value)
        for value in (page.blocks, page.nodes, dataset, small_model(), TrainedExtractor(small_model()), GroupFolds(3),
                      resolve("dsc", {"window": 5}))
    }  # fmt: skip
    assert shown == {
        "Blocks(1,000 blocks, 1,000 words)",
        f"Nodes({len(page.nodes):,} nodes)",
        "Dataset('news', 1 page, path='news', format='folders')",
        "Model('tiny 1.2', features='boilerpipe6', predictors=['tree'])",
        "<TrainedExtractor tiny 1.2>",
        "GroupFolds(n_splits=3, seed=0)",
        "<DSC dsc(window=5)>",
    }


def test_predictions_and_matrices_are_pickled() -> None:
    """Predictions and matrices are pickled without the data of the C extension, and give the same decision."""
    page = blockml.parse(
        "".join(f"<div class=c{i}><p>Text {i} <a href=/>link</a>{' word' * i}</div>" for i in range(60))
    )
    extractor = trained("default")
    prediction = extractor.predict(page)
    a, b = extractor.decide(page, prediction), extractor.decide(page, pickle.loads(pickle.dumps(prediction)))  # noqa: S301
    assert (a.scores.tolist(), a.labels, a.reasons) == (b.scores.tolist(), b.labels, b.reasons)
    rows = matrix(page, "page")
    assert score_page(extractor.model, copy.deepcopy(rows)).scores.tolist() == prediction.scores.tolist()


def test_blocks_accept_numpy_indices() -> None:
    """Blocks can be indexed by numpy integers, and contain plain numbers; fractions are refused."""
    page = blockml.parse("<p>One</p><p>Two</p>")
    block = page.blocks[np.flatnonzero([False, True])[0]]
    assert type(block.index) is int
    assert block == page.blocks[1]
    with pytest.raises(TypeError):
        page.blocks[0.5]  # type: ignore[call-overload]
