"""Another version of both packages in the place of the first, as Dify's page updates a local package: by uninstalling it."""

import re
import zipfile

import pytest

from apps import MODELS, agent_node, weekday
from upstream import call, said


@pytest.fixture
def install_as_before(console, packages, save_credentials):
    """Leave the plugins as the other tests want them."""
    yield
    for package in packages:
        console.install(package)
    save_credentials()


def another_version(package, folder):
    """Return a package that differs by its version."""
    changed = folder / package.name.replace("0.1.0", "0.1.1")
    with zipfile.ZipFile(package) as old, zipfile.ZipFile(changed, "w") as new:
        for entry in old.infolist():
            content = old.read(entry)
            if entry.filename == "manifest.yaml":
                content = re.sub(rb"(?m)^version: .*$", b"version: 0.1.1", content)
            new.writestr(entry, content)
    return changed


@pytest.mark.usefixtures("install_as_before")
def test_apps_go_on_after_an_update_once_the_key_is_there_again(
    apps, upstream, console, packages, tmp_path, save_credentials
):
    upstream.plays([call("weekday", year=2026, month=11, day=23)], [said("Monday.")], repeat=True)
    app = apps.chatflow("agent", agent_node([weekday()]))
    assert app.chat("What weekday is it?").answer == "Monday."

    for package in packages:
        console.install(another_version(package, tmp_path))
    versions = {one["name"]: one["version"] for one in console.plugins()}
    assert versions["openai_gpt5_responses"] == versions["gpt5_agent_strategies"] == "0.1.1"
    # Dify 1.14 forgets the key of a plugin that is uninstalled, 1.10 does not.
    if console.provider(MODELS)["custom_configuration"]["status"] == "no-configure":
        assert "openai_api_key is required" in app.chat("What weekday is it?").error

    save_credentials()
    assert app.chat("What weekday is it?").answer == "Monday."
