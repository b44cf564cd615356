"""Errors raised by blockml.

::

    BlockmlError                  catch this to catch everything below
    ├── UsageError                invalid arguments of a call or a command (also a ValueError)
    │   └── UnknownNameError      a name outside a closed list; the message lists the legal names
    ├── MissingExtraError         an optional package is not installed (also an ImportError)
    ├── ModelError                an unusable model file (also a ValueError)
    │   ├── ModelFormatError      not a blockml model, damaged, or of a newer format
    │   └── FeatureMismatchError  the model was trained on columns that differ from those of this version
    ├── DatasetError              unreadable labelled data (also a ValueError)
    └── InputError                unreadable input (also an OSError)

A bad page never raises: its :class:`~blockml.page.Extraction` has a status that gives the reason.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

__all__ = [
    "BlockmlError",
    "DatasetError",
    "FeatureMismatchError",
    "InputError",
    "MissingExtraError",
    "ModelError",
    "ModelFormatError",
    "UnknownNameError",
    "UsageError",
    "check_name",
    "check_type",
    "needed",
]


class BlockmlError(Exception):
    """Base class of all errors of blockml.

    Parameters
    ----------
    message
        Description of the problem, with the legal values.
    source
        File, URL or record that caused the error; prefixed to the message.
    """

    def __init__(self, message: str, *, source: object = None) -> None:
        super().__init__(f"{source}: {message}" if source is not None else message)
        self.source = source

    def __reduce__(self) -> tuple[object, ...]:
        """Support pickling, although subclasses take arguments other than the message."""
        return _restore, (type(self), self.args, self.__dict__)


def _restore(kind: type[BlockmlError], args: tuple[object, ...], state: dict[str, object]) -> BlockmlError:
    error = kind.__new__(kind)
    error.args = args
    error.__dict__.update(state)
    return error


class UsageError(BlockmlError, ValueError):
    """Invalid arguments of a call or a command."""


class UnknownNameError(UsageError):
    """Unknown name; the message lists the legal names.

    Examples
    --------
    >>> print(UnknownNameError("format", "xml", ["text", "json"]))
    unknown format 'xml'; choose one of: json, text
    >>> print(UnknownNameError("format", "texts", ["text", "json"]))
    unknown format 'texts'; did you mean 'text'? Or choose one of: json, text
    """

    def __init__(self, kind: str, name: object, legal: Iterable[str], *, source: object = None) -> None:
        from difflib import get_close_matches  # not needed without an error

        self.legal = tuple(sorted(legal))
        choices = f"choose one of: {', '.join(self.legal)}" if self.legal else "none is available"
        near = get_close_matches(name, self.legal, n=1, cutoff=0.75) if isinstance(name, str) else ()
        guess = "".join(f"did you mean {found!r}? Or " for found in near)
        super().__init__(f"unknown {kind} {name!r}; {guess}{choices}", source=source)


def check_name(kind: str, name: object, legal: Iterable[str], *, source: object = None) -> None:
    """Raise UnknownNameError unless the value is a name in a closed list.

    Examples
    --------
    >>> check_name("format", ["text"], ["text", "json"])
    Traceback (most recent call last):
    blockml.errors.UnknownNameError: unknown format ['text']; choose one of: json, text
    """
    if not isinstance(name, str) or name not in legal:
        raise UnknownNameError(kind, name, legal, source=source)


def check_type(name: str, value: object, *kinds: type, legal: str) -> None:
    """Raise UsageError for an argument of the wrong type; True and False don't count as numbers.

    Examples
    --------
    >>> check_type("url", b"x", str, type(None), legal="str or None")
    Traceback (most recent call last):
    blockml.errors.UsageError: url must be str or None, got bytes
    """
    if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
        raise UsageError(f"{name} must be {legal}, got {type(value).__name__}")


class MissingExtraError(BlockmlError, ImportError):
    """Missing optional package; the message gives the command that installs it.

    Examples
    --------
    >>> print(MissingExtraError("the report", "report"))
    the report needs an optional package; in a checkout of blockml: pip install ".[report]"
    """

    def __init__(self, purpose: str, extra: str) -> None:
        super().__init__(f"{purpose} needs an optional package; {install_hint(extra)}")


@contextmanager
def needed(purpose: str, extra: str) -> Iterator[None]:
    """Raise MissingExtraError if an import in the ``with`` block fails.

    Examples
    --------
    >>> with needed("Ray", "ray"):
    ...     import not_installed
    Traceback (most recent call last):
    blockml.errors.MissingExtraError: Ray needs an optional package; in a checkout of blockml: pip install ".[ray]"
    """
    try:
        yield
    except ImportError as error:
        raise MissingExtraError(purpose, extra) from error


#: Extra of pyproject.toml that installs each optional package.
_EXTRAS = {
    "sklearn": "train",
    "scipy": "train",
    "joblib": "train",
    "threadpoolctl": "train",
    "html5lib": "html5lib",
    "bottle": "label",
    "nh3": "label",
}


def missing_extra(error: ModuleNotFoundError, purpose: str) -> MissingExtraError | None:
    """Return the error that names the extra of a missing package; None for a package that no extra installs.

    Examples
    --------
    >>> print(missing_extra(ModuleNotFoundError(name="scipy.sparse"), "training"))
    training needs an optional package; in a checkout of blockml: pip install ".[train]"
    """
    extra = _EXTRAS.get((error.name or "").partition(".")[0])
    return MissingExtraError(purpose, extra) if extra else None


def install_hint(extra: str) -> str:
    """Return the command that installs an extra.

    Examples
    --------
    >>> install_hint("report")
    'in a checkout of blockml: pip install ".[report]"'
    """
    return f'in a checkout of blockml: pip install ".[{extra}]"'


class ModelError(BlockmlError, ValueError):
    """Unusable model file."""


class ModelFormatError(ModelError):
    """File that is not a blockml model, is damaged, or has an unknown format."""


class FeatureMismatchError(ModelError):
    """Model whose feature set differs from that of this version of blockml."""


class DatasetError(BlockmlError, ValueError):
    """Unreadable labelled data."""


class InputError(BlockmlError, OSError):
    """Unreadable input."""
