"""A variant is the same plugin with some declarations changed, by what its pyproject.toml says."""

import re
import zipfile

import pytest
import yaml


VARIANT = """
[tool.dify-host.variants.polling."manifest.yaml"]
name = "echo_polling"
meta = { minimum_dify_version = "1.15.0" }

[tool.dify-host.variants.polling."models/llm/*.yaml"]
features = ["polling"]
pricing = { input = "3" }
"""


@pytest.fixture
def make(monkeypatch, packager, workshop):
    """Describe variants of the echo model, and run `package`; return exit code, stdout and stderr."""
    monkeypatch.chdir(workshop)
    pyproject = workshop / "plugins" / "echo_model" / "pyproject.toml"
    # It needs nothing here, for that would be built each time.
    pyproject.write_text(re.sub(r"(?m)^(dependencies = ).*", r"\1[]", pyproject.read_text()))

    def run(*arguments, variants=VARIANT):
        with pyproject.open("a") as file:
            file.write(variants)
        return packager("package", *arguments)

    return run


def content(path):
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_a_variant_is_a_package_of_its_own_name(make, workshop):
    code, out, _ = make("--variant", "polling")
    assert code == 0
    # The agent plugin has no such variant.
    [line] = out.splitlines()
    assert "/echo_polling:0.0.1@" in line
    changed = content(workshop / "dist" / "echo_polling-0.0.1.difypkg")
    make("echo_model", variants="")
    plain = content(workshop / "dist" / "echo_model-0.0.1.difypkg")
    assert {name for name in plain if plain[name] != changed[name]} == {
        "manifest.yaml",
        *(f"models/llm/echo-{number}.yaml" for number in (1, 2, 3)),
    }
    assert plain.keys() == changed.keys()
    before, after = (yaml.safe_load(files["manifest.yaml"]) for files in (plain, changed))
    assert after == before | {
        "name": "echo_polling",
        "meta": before["meta"] | {"minimum_dify_version": "1.15.0"},
    }
    before, after = (yaml.safe_load(files["models/llm/echo-2.yaml"]) for files in (plain, changed))
    assert after == before | {
        "features": [*before["features"], "polling"],
        "pricing": before["pricing"] | {"input": "3"},
    }


def test_the_same_variant_is_the_same_package(make):
    _, first, _ = make("echo_model", "--variant", "polling")
    _, second, _ = make("echo_model", "--variant", "polling", variants="")
    assert first == second


def test_a_list_that_is_not_there_yet_is_begun(make, workshop):
    variants = '\n[tool.dify-host.variants.more."manifest.yaml"]\ntags = ["utilities"]\n'
    assert make("--variant", "more", variants=variants)[0] == 0
    made = content(workshop / "dist" / "echo_model-0.0.1.difypkg")
    assert yaml.safe_load(made["manifest.yaml"])["tags"] == ["utilities"]


@pytest.mark.parametrize(
    ("variants", "name", "problem"),
    [
        (VARIANT, "poling", "there is no variant 'poling' in [tool.dify-host.variants]"),
        (VARIANT, "poling", "expected one of: polling"),
        ("", "polling", "none is described"),
        ("\n[tool.dify-host.variants]\nv = 3\n", "v", "v: expected a table for each file"),
        ("\n[tool.dify-host.variants.v]\n'a.yaml' = 3\n", "v", "v: expected a table for each file"),
        ("\n[tool.dify-host.variants.v.'a.yaml']\n", "v", "expected a file that 'a.yaml' matches"),
        ("\n[tool.dify-host.variants.v.'[.yaml']\n", "v", "expected a pattern of files"),
        ("\n[tool.dify-host.variants.v.'README.md']\nname = 'n'\n", "v", "README.md: expected"),
        (
            "\n[tool.dify-host.variants.v.'manifest.yaml']\nmeta = 'm'\n",
            "v",
            "variant: manifest.yaml: meta: expected a table, got a value",
        ),
        (
            "\n[tool.dify-host.variants.v.'manifest.yaml'.plugins]\nmodels = 'm'\n",
            "v",
            "variant: manifest.yaml: plugins: models: expected a list, got a value",
        ),
    ],
)
@pytest.mark.parametrize("named", [[], ["echo_model"]])
def test_what_cannot_be_made_is_named(make, variants, name, problem, named):
    code, _, err = make(*named, "--variant", name, variants=variants)
    assert code == 2
    assert problem in err


def test_an_offline_package_can_be_of_a_variant(make):
    code, _, err = make("--offline", "--variant", "poling")
    assert (code, "there is no variant 'poling'" in err) == (2, True)
