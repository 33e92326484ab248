"""Which Chromium the page is tried in."""

import shutil


# Debian has one that can't show windows, and takes a fifth less of the processor.
_PROGRAMS = ("chromium-headless-shell", "chromium")


def find_chromium() -> str | None:
    """Return the path of the program; None if there is none."""
    return next(filter(None, map(shutil.which, _PROGRAMS)), None)
