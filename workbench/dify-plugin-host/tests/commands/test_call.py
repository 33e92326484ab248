import json
import shlex
from pathlib import Path

import pytest


PARROT = Path(__file__).parents[1] / "plugins" / "parrot.py"
KEY = "let-me-in, please"
TYPES = ["llm", "moderation", "rerank", "speech2text", "text-embedding", "tts"]
TOOL = {
    "identity": {"name": "repeat"},
    "parameters": [
        {"name": "text", "type": "string", "required": True, "form": "llm"},
        {"name": "count", "type": "number", "default": 2, "form": "form"},
        {"name": "loud", "type": "boolean", "form": "form"},
        {"name": "way", "type": "select", "options": [{"value": "slow"}, {"value": "fast"}]},
        {"name": "more", "type": "object", "form": "llm"},
        {"name": "pictures", "type": "files", "form": "llm"},
    ],
}


@pytest.fixture
def parrot(make_plugin, monkeypatch):
    """Write a plugin whose tool `repeat` and whose models of all types send back what they get."""
    monkeypatch.setenv("PARROT_KEY", KEY)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    folder = make_plugin(
        PARROT.read_text(), plugins={"tools": ["tools.yaml"], "models": ["models.yaml"]}
    )
    key = {"type": "secret-input", "required": True}
    tools = {"identity": {"name": "parrot"}, "credentials_for_provider": {"key": key}}
    form = [{"variable": "openai_api_key", "required": True}]
    models = {
        "provider": "openai",
        "supported_model_types": TYPES,
        "provider_credential_schema": {"credential_form_schemas": form},
    }
    free = {**TOOL, "identity": {"name": "free"}, "has_runtime_parameters": True}
    (folder / "tools.yaml").write_text(json.dumps({**tools, "tools": [TOOL, free]}))
    (folder / "models.yaml").write_text(json.dumps(models))
    return folder


@pytest.fixture
def call(dify_host, parrot):
    """Call the parrot; return the messages."""

    def make(*arguments):
        code, out, err = dify_host("call", parrot, *arguments, "--json")
        assert code == 0, err
        return [json.loads(line) for line in out.splitlines()]

    return make


@pytest.fixture
def fail(dify_host, parrot):
    """Call the parrot in a way that fails; return the exit code and the last line of stderr."""

    def make(*arguments):
        code, _, err = dify_host("call", parrot, *arguments)
        return code, err.splitlines()[-1].removeprefix("dify-host: error: ")

    return make


def sent(messages):
    """Return the data of a call as the plugin got it."""
    return next(one["message"]["json_object"] for one in messages if one["type"] == "json")


def test_a_call_of_a_tool_shows_each_message_and_never_the_credentials(dify_host, parrot, tmp_path):
    code, out, _ = dify_host("call", parrot, "repeat", "text=hello", "--save-files", tmp_path)
    assert code == 0
    first, *json_lines, count, log, link, file = out.splitlines()
    assert first == "So it is: [redacted]"
    assert json.loads("\n".join(json_lines))["credentials"] == {"key": "[redacted]"}
    assert count == "[variable] count = 2"
    assert log == "[log] look error {}: not there"
    assert link == '[link] {"text": "https://example.com"}'
    assert file == f"[file] file (x/y, 8 bytes): saved as {tmp_path / 'file.bin'}"
    assert (tmp_path / "file.bin").read_bytes() == b"\x89PNG\r\n\x1a\n"


def test_files_are_only_saved_where_somebody_asks_for_it(dify_host, parrot):
    _, out, _ = dify_host("call", parrot, "repeat", "text=hello")
    assert out.splitlines()[-1] == "[file] file (x/y, 8 bytes): --save-files DIR saves it"


def test_programs_get_the_messages_as_json_with_the_place_of_a_saved_file(call, tmp_path):
    *messages, blob = call("repeat", "text=hello", "--save-files", tmp_path)
    assert [one["type"] for one in messages] == [*["text"] * 3, "json", "variable", "log", "link"]
    path = str(tmp_path / "file.bin")
    assert blob == {"type": "blob", "message": {}, "meta": {"mime_type": "x/y", "path": path}}


def test_arguments_become_values_of_the_declared_types(call, tmp_path):
    (tmp_path / "long.txt").write_text("from a file")
    (tmp_path / "a.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    data = sent(
        call(
            "repeat",
            f"text=@{tmp_path}/long.txt",
            "count=3",
            "loud=yes",
            "way=fast",
            'more={"a": [1]}',
            f"pictures=@{tmp_path}/a.png",
            f"pictures=@{tmp_path}/a.png",
        )
    )
    *pictures, rest = data["tool_parameters"].pop("pictures"), data["tool_parameters"]
    assert rest == {
        "count": 3,
        "loud": True,
        "more": {"a": [1]},
        "text": "from a file",
        "way": "fast",
    }
    assert [one["filename"] for one in pictures[0]] == ["a.png", "a.png"]
    assert data["credential_type"] == "api-key"


def test_json_is_taken_as_it_is_and_defaults_fill_in_what_is_left_out(call):
    data = sent(call("repeat", 'text:="@home"', "more=not JSON"))
    assert data["tool_parameters"] == {"count": 2, "more": "not JSON", "text": "@home"}


def test_an_empty_text_is_sent_also_for_what_is_required_or_has_a_default(call):
    data = sent(call("repeat", "text=", "count="))
    assert data["tool_parameters"] == {"count": None, "text": ""}


def test_a_tool_with_parameters_of_the_run_takes_any(call):
    assert sent(call("free", "text=a", "other=b"))["tool_parameters"]["other"] == "b"


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["reapeat"], "there is no tool, model or strategy 'reapeat'; expected one of: repeat, free"),
        (["m", "--provider", "parrot"], "there is no tool, model or strategy 'm'; expected one of: repe"),
        (["repeat"], "parameter 'text': expected a value, which tool 'repeat' requires"),
        (["repeat", "text"], "parameter 'text': expected name=text, name:=JSON or name=@FILE"),
        (["repeat", "text:={"], "parameter 'text': expected JSON after :=:"),
        (["repeat", "text=@no.txt"], "text=@no.txt: expected a file that can be read"),
        (["repeat", "text=a", "txt=b"], "there is no parameter of tool 'repeat' named 'txt'"),
        (["m", "--model-type", "llm"], "parameter 'prompt': expected the text for the model"),
        (["m", "--model-type", "llm", "prompt=a", "int=b"], "parameter 'int': expected a value of"),
        (["m", "--model-type", "llm", "prompt=a", "int=true"], "parameter 'int': expected a value"),
        (["m", "--model-type", "llm", "prompt=a", "x=b"], "there is no parameter of model 'm'"),
        (["m", "--model-type", "rerank", "docs=a"], "parameter 'query': expected a value, which"),
        (["m", "--model-type", "tts", "say=a"], "there is no argument of a tts call named 'say'"),
        (["--validate", "--provider", "x"], "there is no provider of tools or models 'x'; expe"),
    ],
)  # fmt: skip
def test_a_wrong_call_is_refused_by_name_before_it_is_made(fail, arguments, problem):
    code, text = fail(*arguments)
    assert text.startswith(problem)
    assert code == 2


@pytest.mark.parametrize(
    ("argument", "problem"),
    [
        ("way=loud", "'way': tool parameter way value loud not in options ['slow', 'fast']"),
        ("count=two", "'count': invalid literal for int() with base 10: 'two'"),
        ("count:=[1, 2]", "'count': expected one value of the type number, got several"),
        ("pictures=a.png", "'pictures': expected a file, as LocalFile or as name=@FILE"),
    ],
)
def test_a_value_that_cannot_be_sent_is_refused(fail, argument, problem):
    assert fail("repeat", "text=a", argument) == (2, f"parameter {problem}")


def test_credentials_that_are_missing_are_named_by_their_variables(fail, monkeypatch):
    monkeypatch.delenv("PARROT_KEY")
    expected = "expected PARROT_KEY in the environment, the credentials of provider 'parrot'"
    assert fail("repeat", "text=a") == (2, expected)


def test_a_check_of_credentials_fails_with_the_plugins_reason_but_not_with_the_credentials(fail):
    expected = "ToolProviderCredentialValidationError: [redacted]"
    assert fail("--validate", "--provider", "parrot") == (1, expected)


def test_a_provider_that_does_not_say_yes_has_refused_its_credentials(fail):
    expected = "provider 'openai' did not accept the credentials"
    assert fail("--validate", "--provider", "openai") == (1, expected)


def test_the_credentials_of_a_model_can_be_checked(dify_host, parrot, call):
    model = ("m", "--model-type", "tts", "--validate")
    assert call(*model) == [{"type": "validated", "provider": "openai"}]
    _, out, _ = dify_host("call", parrot, *model)
    assert out == "provider 'openai' accepts the credentials\n"


def test_a_strategy_has_no_credentials_to_check(dify_host, plugins):
    code, _, err = dify_host("call", plugins / "small_agent", "steps", "--validate")
    assert err.endswith("expected a tool or a model: strategies have no credentials\n")
    assert code == 2


def test_an_llm_gets_the_prompt_and_its_parameters(call, tmp_path):
    (tmp_path / "a.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    arguments = ["int=3", "float=1", "boolean=true", "string=3", "system=Be brief."]
    messages = call(
        "m", "--model-type", "llm", "prompt=hello", *arguments, f"files=@{tmp_path}/a.png"
    )
    texts = [one["message"]["text"] for one in messages if one["type"] == "text"]
    data = json.loads("".join(texts))
    system, user = data["prompt_messages"]
    assert system["content"] == "Be brief."
    assert [part["type"] for part in user["content"]] == ["image", "text"]
    assert data["model_parameters"] == {"boolean": True, "float": 1, "int": 3, "string": "3"}
    assert data["credentials"] == {"openai_api_key": "[redacted]"}


def test_models_of_all_other_types_are_called_with_the_fields_of_their_type(call, tmp_path):
    (tmp_path / "a.wav").write_bytes(b"\x01\x02")
    embedded = sent(call("m", "--model-type", "text-embedding", "texts=a"))
    data = json.loads(embedded["model"])
    assert (data["texts"], data["input_type"]) == (["a"], "document")
    results = [
        sent(call("m", "--model-type", "moderation", "text=a")),
        sent(call("m", "--model-type", "rerank", "query=a", "docs=b", "docs=c", "top_n:=1")),
        sent(call("m", "--model-type", "speech2text", f"file=@{tmp_path}/a.wav")),
        sent(call("m", "--model-type", "tts", f"text=@{tmp_path}/a.wav")),
    ]
    assert [list(one) for one in results] == [["result"], ["model", "docs"], ["result"], ["result"]]


def test_a_strategy_is_called_with_the_models_and_tools_of_the_plugins_beside_it(
    dify_host, plugins
):
    strategy = (plugins / "small_agent", "steps", "--with", plugins / "echo_model", "--simulator")
    code, out, err = dify_host("call", *strategy, "instruction=Help.", "query=hello")
    assert code == 0, err
    assert "hello" in out
    chosen = ("instruction=Help.", "model=echo-1", 'completion_params={"temperature": 1}')
    assert (
        "[log] CALL clock success"
        in dify_host("call", *strategy, *chosen, "query=call clock {}")[1]
    )
    code, _, err = dify_host("call", *strategy, "instruction=Help.")
    assert err.endswith("parameter 'query': expected a value, which strategy 'steps' requires\n")
    assert code == 2


def test_a_strategy_without_a_model_plugin_gets_a_scripted_model(dify_host, plugins):
    arguments = ("instruction=Help.", "query=hello")
    code, out, err = dify_host("call", plugins / "small_agent", "steps", *arguments)
    assert code == 0, err
    assert "hello world" in out


def test_the_scripted_model_calls_the_first_tool_as_its_schema_asks(dify_host, plugins):
    schema = {
        "properties": {
            "unit": {"type": "string", "enum": ["c", "f"]},
            "days": {"type": "integer"},
            "note": {"type": "string"},
        },
        "required": ["unit", "days"],
    }
    tools = [{"name": name, "description": "", "parameters": schema} for name in ("weather", "x")]
    payload = {"provider": "p", "model": "m", "mode": "chat", "prompt_messages": [], "tools": tools}
    query = f"query=raw llm {json.dumps(payload)}"
    code, out, err = dify_host("call", plugins / "small_agent", "steps", "instruction=Help.", query)
    assert code == 0, err
    (call,) = json.loads(out.partition("[json]")[0])[0]["data"]["delta"]["message"]["tool_calls"]
    assert call["function"]["name"] == "weather"
    assert json.loads(call["function"]["arguments"]) == {"unit": "c", "days": 1}


def test_the_plugins_beside_it_get_their_credentials_from_their_own_variables(
    dify_host, plugins, monkeypatch
):
    monkeypatch.setenv("ECHO_OPENAI_API_KEY", "sk-of-the-echo")
    strategy = (plugins / "small_agent", "steps", "--with", plugins / "echo_model")
    _, out, err = dify_host("call", *strategy, "instruction=Help.", "query=request")
    assert '"openai_api_key": "[redacted]"' in out.replace("\\", ""), err
    assert "sk-of" not in out


def test_a_plugin_that_does_not_start_shows_where_it_failed(dify_host, make_plugin):
    folder = make_plugin("import dify_plugin_of_nobody", plugins={"tools": ["tools.yaml"]})
    tools = {"identity": {"name": "p"}, "tools": [{"identity": {"name": "x"}, "parameters": []}]}
    (folder / "tools.yaml").write_text(json.dumps(tools))
    code, _, err = dify_host("call", folder, "x")
    assert 'main.py", line 2' in err
    assert code == 1


def test_a_plugin_without_anything_to_call_says_so(dify_host, make_plugin):
    code, out, err = dify_host("call", make_plugin("", plugins={}))
    assert "there is no tool, model or strategy in" in err
    assert (code, out) == (2, "")


def test_what_a_plugin_logs_is_shown_on_request(dify_host, parrot):
    _, _, err = dify_host("call", parrot, "repeat", "text=a", "--verbose")
    assert err == "scripted: INFO: loaded\n"


def test_without_a_name_everything_that_can_be_called_is_listed(dify_host, parrot, plugins):
    assert dify_host("call", parrot)[1].replace(
        shlex.quote(str(parrot)), "PLUGIN"
    ).splitlines() == [
        "dify-host call PLUGIN MODEL prompt=text [system=text] [files=@FILE] [PARAMETER=value]",
        "dify-host call PLUGIN MODEL text=…",
        "dify-host call PLUGIN MODEL query=… [docs=…] [score_threshold=…] [top_n=…]",
        "dify-host call PLUGIN MODEL file=…",
        "dify-host call PLUGIN MODEL texts=… [input_type=…]",
        "dify-host call PLUGIN MODEL text=… [voice=…]",
        *(
            f"dify-host call PLUGIN {name} text=string [count=number] [loud=boolean] [way=slow|fast]"
            " [more=object] [pictures=files]"
            for name in ("repeat", "free")
        ),
    ]
    assert " steps " in dify_host("call", plugins / "small_agent")[1]
