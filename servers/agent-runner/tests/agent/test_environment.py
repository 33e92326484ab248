import pytest

from agent_runner import ConfigurationError, read_production_env


PRINT = "import json, os; print(json.dumps(dict(os.environ)))"


@pytest.fixture
def environment_of(make_agent, run_agent):
    async def read(env=None, **settings):
        [output], _ = await run_agent(make_agent(PRINT, env=env), **settings)
        return output.value

    return read


async def test_the_script_sees_only_what_it_needs_of_the_runners_environment(
    environment_of, monkeypatch
):
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "runner's own")
    monkeypatch.setenv("VIRTUAL_ENV", "/somewhere")
    monkeypatch.setenv("PYTHONPATH", "/somewhere")
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy")
    seen = await environment_of()
    assert not {"AWS_SECRET_ACCESS_KEY", "VIRTUAL_ENV", "PYTHONPATH"} & set(seen)
    assert seen["HTTPS_PROXY"] == "http://proxy"
    assert "PATH" in seen


async def test_a_variable_of_the_runner_is_passed_on_by_name(environment_of, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-own")
    assert (await environment_of(pass_env=["OPENAI_API_KEY"]))["OPENAI_API_KEY"] == "sk-own"


async def test_each_layer_wins_over_the_one_below(environment_of, monkeypatch):
    monkeypatch.setenv("OPENAI_DEFAULT_MODEL", "parent")
    parent = {"pass_env": ["OPENAI_DEFAULT_MODEL"]}
    default = {"default_model": "default"}
    production = {"production_env": {"OPENAI_DEFAULT_MODEL": "production"}}
    env = "OPENAI_DEFAULT_MODEL=file"
    layers = [
        await environment_of(**parent),
        await environment_of(**parent, **default),
        await environment_of(env, **parent, **default),
        await environment_of(env, **parent, **default, **production),
    ]
    models = [layer["OPENAI_DEFAULT_MODEL"] for layer in layers]
    assert models == ["parent", "default", "file", "production"]


async def test_output_is_never_buffered_whatever_anyone_says(environment_of):
    seen = await environment_of("PYTHONUNBUFFERED=", production_env={"PYTHONUNBUFFERED": ""})
    assert seen["PYTHONUNBUFFERED"] == "1"


async def test_defaults_are_the_lowest_layer(environment_of):
    assert (await environment_of())["OPENAI_AGENTS_DISABLE_TRACING"] == "1"
    assert (await environment_of("OPENAI_AGENTS_DISABLE_TRACING=0"))[
        "OPENAI_AGENTS_DISABLE_TRACING"
    ] == "0"


async def test_the_env_file_is_taken_literally(environment_of):
    seen = await environment_of(
        "\ufeffA='pa$$word ${HOME}'\nEMPTY=\nNAME_ONLY\nexport B=\"two\\nlines\"\n"
    )
    assert (seen["A"], seen["EMPTY"], seen["B"]) == ("pa$$word ${HOME}", "", "two\nlines")
    assert "NAME_ONLY" not in seen


async def test_an_env_file_that_is_not_utf8_is_refused(make_agent, run_agent):
    folder = make_agent(PRINT)
    (folder / ".env").write_bytes(b"A=\xff")
    with pytest.raises(ConfigurationError, match=r"\.env: expected UTF-8"):
        await run_agent(folder)


@pytest.mark.parametrize("variable", [{"A=B": "c"}, {"": "c"}, {"A\0": "c"}])
async def test_a_name_that_no_process_can_have_is_refused(make_agent, run_agent, variable):
    with pytest.raises(ConfigurationError, match="expected a name that a variable can have"):
        await run_agent(make_agent(PRINT), production_env=variable)


async def test_a_value_that_no_process_can_have_is_refused_without_quoting_it(
    make_agent, run_agent
):
    with pytest.raises(ConfigurationError, match=r"^A: expected a value without NUL$"):
        await run_agent(make_agent(PRINT), production_env={"A": "secret\0"})


def test_production_variables_come_from_settings_and_files_and_the_later_wins(tmp_path):
    path = tmp_path / "production.env"
    path.write_text("A=file\nB=file\n")
    assert read_production_env(["A=1=2", str(path), "B=", "C=two\nlines"]) == {
        "A": "file",
        "B": "",
        "C": "two\nlines",
    }


def test_a_source_that_is_neither_setting_nor_file_is_refused_without_quoting_it():
    with pytest.raises(ConfigurationError) as caught:
        read_production_env(["sk-forgotten-name"])
    assert (
        str(caught.value) == "production env: expected NAME=VALUE or a path to a file, got neither"
    )
