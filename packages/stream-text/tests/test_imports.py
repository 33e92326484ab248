import subprocess
import sys


def test_what_acts_on_the_process_is_imported_by_whoever_wants_it():
    code = "import sys, stream_text; print({'asyncio', 'threading', 'stream_text.signals'} & sys.modules.keys())"

    shown = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    ).stdout

    assert shown == "set()\n"
