"""The errors blockml raises, as one tree.

::

    BlockmlError                  catch this to catch everything below
    ├── UsageError                a call or a command line that cannot be carried out (also a ValueError)
    │   └── UnknownNameError      a name outside a closed list; the message lists the legal ones
    ├── MissingExtraError         an optional package is not installed (also an ImportError)
    ├── ModelError                a model file that cannot be used (also a ValueError)
    │   ├── ModelFormatError      not a blockml model, damaged, or of a newer format
    │   └── FeatureMismatchError  the model was trained on other columns than this version computes
    ├── DatasetError              labelled data that cannot be read (also a ValueError)
    └── InputError                no input page could be read (also an OSError)

A bad page is none of these: it becomes an :class:`~blockml.page.Extraction` whose status says what happened.
"""

from __future__ import annotations

from collections.abc import Iterable

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
]


class BlockmlError(Exception):
    """Base of all errors of blockml.

    Parameters
    ----------
    message
        What is wrong, and which values are legal.
    source
        The file, URL or record it is about, where there is one; put in front of the message.
    """

    def __init__(self, message: str, *, source: object = None) -> None:
        super().__init__(f"{source}: {message}" if source is not None else message)
        self.source = source

    def __reduce__(self) -> tuple[object, ...]:
        """Travel between processes: the constructors take other arguments than the message."""
        return _restore, (type(self), self.args, self.__dict__)


def _restore(kind: type[BlockmlError], args: tuple[object, ...], state: dict[str, object]) -> BlockmlError:
    error = kind.__new__(kind)
    error.args = args
    error.__dict__.update(state)
    return error


class UsageError(BlockmlError, ValueError):
    """A call that cannot be carried out as it stands."""


class UnknownNameError(UsageError):
    """A name outside a closed list.

    Examples
    --------
    >>> print(UnknownNameError("format", "xml", ["text", "json"]))
    unknown format 'xml'; choose one of: json, text
    """

    def __init__(self, kind: str, name: str, legal: Iterable[str], *, source: object = None) -> None:
        self.legal = tuple(sorted(legal))
        choices = f"choose one of: {', '.join(self.legal)}" if self.legal else "there is none"
        super().__init__(f"unknown {kind} {name!r}; {choices}", source=source)


class MissingExtraError(BlockmlError, ImportError):
    """An optional package is missing; the message holds the install line.

    Examples
    --------
    >>> print(MissingExtraError("Markdown output", "markdown"))
    Markdown output needs an optional package; in a checkout of blockml: pip install ".[markdown]"
    """

    def __init__(self, purpose: str, extra: str) -> None:
        super().__init__(f"{purpose} needs an optional package; {install_hint(extra)}")


def install_hint(extra: str) -> str:
    """Tell how to install an extra: the one place that knows what works today.

    Examples
    --------
    >>> install_hint("report")
    'in a checkout of blockml: pip install ".[report]"'
    """
    return f'in a checkout of blockml: pip install ".[{extra}]"'


class ModelError(BlockmlError, ValueError):
    """A model file that cannot be used."""


class ModelFormatError(ModelError):
    """Not a blockml model file, a damaged one, or one of a format this version does not know."""


class FeatureMismatchError(ModelError):
    """A model whose feature set this version of blockml computes differently, or not at all."""


class DatasetError(BlockmlError, ValueError):
    """Labelled data that cannot be read."""


class InputError(BlockmlError, OSError):
    """No input page could be read."""
