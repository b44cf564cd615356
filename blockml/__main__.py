"""``python -m blockml`` is the same as ``blockml``."""

from blockml.cli import main

raise SystemExit(main())
