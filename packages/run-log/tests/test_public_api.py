import importlib.metadata
import inspect

import run_log


def test_all_is_complete():
    public = {
        name
        for name, value in vars(run_log).items()
        if not name.startswith("_") and not inspect.ismodule(value)
    }

    assert set(run_log.__all__) == public


def test_the_version_is_the_published_one():
    assert importlib.metadata.version("gpt5-run-log").count(".") == 2
