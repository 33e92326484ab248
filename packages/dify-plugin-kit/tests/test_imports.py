import subprocess
import sys


def test_what_acts_on_the_process_or_uses_threads_is_imported_by_whoever_wants_it():
    code = (
        "import sys, dify_plugin_kit, dify_plugin_kit.settings;"
        "print({'threading', 'dify_plugin_kit.stdin', 'dify_plugin_kit.stdout', 'dify_plugin_kit.pacing'} & sys.modules.keys())"
    )

    shown = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    ).stdout

    assert shown == "set()\n"
