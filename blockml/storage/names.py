"""Names of files: names made from texts in pages and records, and names that users give."""

from __future__ import annotations

import os
import re
import stat

# Characters that some systems don't allow in file names, or that need quoting in a link.
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")
_MAX_NAME = 80
#: Names that Windows keeps for devices, with any suffix; it also drops dots and spaces at the end of a name.
_DEVICES = re.compile(
    r"(?:con|prn|aux|nul|conin\$|conout\$|(?:com|lpt)[0-9\u00b9\u00b2\u00b3]) *(?:\.|$)", re.IGNORECASE
)


def is_device(name: str) -> bool:
    """Tell whether a name of a file or folder is kept for a device on Windows.

    Examples
    --------
    >>> is_device("aux"), is_device("Con.txt"), is_device("LPT1 .tar.gz"), is_device("console"), is_device("com10")
    (True, True, True, False, False)
    """
    return _DEVICES.match(name) is not None


def safe_file_name(text: str) -> str:
    """Return a name that is a safe file name on every system; a name that had to be changed gets a hash to stay unique.

    Examples
    --------
    >>> safe_file_name("0001"), safe_file_name("../a b"), safe_file_name("aux")
    ('0001', 'a_b-2c2c791a', 'aux_-321f6814')
    """
    name = _UNSAFE.sub("_", text)[:_MAX_NAME].strip("._")
    if is_device(name):
        head, dot, rest = name.partition(".")
        name = f"{head}_{dot}{rest}"
    if name and name == text:
        return name
    from hashlib import sha256  # loads OpenSSL, which extraction does not need

    digest = sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{name}-{digest}" if name else digest


def refuse_special(path: str | os.PathLike[str]) -> None:
    """Raise OSError for a device, a pipe or a socket, which may never end; a missing file is reported when opened."""
    try:
        mode = os.stat(path).st_mode  # noqa: PTH116 (also takes names that are no paths)
    except (OSError, ValueError):
        return
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise OSError("not a regular file, but a device, a pipe or a socket")
