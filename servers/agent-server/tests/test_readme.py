import re
from pathlib import Path

from starlette.routing import Route
from web import executor, settings_of

from agent_server.http import build_app
from agent_server.settings import ServerSettings


README = Path(__file__).parent.parent / "README.md"


def test_the_readme_example_prints_what_the_readme_says(capsys):
    page = README.read_text(encoding="utf-8")
    ((code, said),) = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", page, re.DOTALL)

    exec(compile(code, str(README), "exec"), {})

    assert capsys.readouterr().out == said


def test_the_readme_names_every_route_and_setting(tmp_path):
    page = README.read_text(encoding="utf-8")
    settings = settings_of(tmp_path, run_logs=tmp_path)
    routes = [one for one in build_app(settings, executor(), None).routes if isinstance(one, Route)]

    for route in routes:
        for method in route.methods - {"HEAD"}:
            assert f"`{method} {route.path.replace('{run_id}', '{id}')}" in page
    table = page.partition("## Settings")[2].partition("##")[0]
    assert re.findall(r"^\| `(\w+)`", table, re.MULTILINE) == list(ServerSettings.model_fields)
