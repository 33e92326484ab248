"""The rules as their tests apply them."""

import pytest

from dify_plugin_packager import Archive, PackageError
from dify_plugin_packager.rules import PackageRules


@pytest.fixture
def read_archive(tmp_path):
    """Read these bytes as a package."""

    def run(content):
        path = tmp_path / "p.difypkg"
        path.write_bytes(content)
        return Archive.read(path)

    return run


@pytest.fixture
def findings_of(read_archive, tmp_path):
    """Apply the rules to these bytes; return what they find as (kind, rule, text)."""

    def run(content):
        try:
            rules = PackageRules(read_archive(content), tmp_path)
        except PackageError as error:
            return [("refused", "archive entries", str(error))]
        applied = [*rules.of_archive(), *(rules.of_contents() if rules.is_readable else ())]
        return [(found.kind, name, found.text) for name, rule in applied for found in rule()]

    return run
