"""The command `dify-agent`, which also has to start without its extra."""

import importlib
import sys
from typing import Final


_BAD_USAGE: Final = 2


def main() -> None:
    """Run the command; without the extra `server`, say how to get it."""
    try:
        importlib.import_module("dify_agent._cli").main()
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        # Without a name, or one of our own modules: a bug, which the sentence below would hide.
        if missing in {"", "dify_agent"}:
            raise
        print(  # noqa: T201 - what prints elsewhere comes with the extra
            f"dify-agent: the command needs the extra 'server', of which {missing!r} is missing: dify-agent[server]",
            file=sys.stderr,
        )
        sys.exit(_BAD_USAGE)
