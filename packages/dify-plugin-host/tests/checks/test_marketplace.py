"""A package that the marketplace takes, and many that break one of its rules, which the right check has to name."""

import json
import sys
import zipfile

import pytest


MANIFEST = "manifest.yaml"
README = """# Echo

![What it looks like](_assets/icon.svg) says again what it is told, for as long as anybody talks to it.

## Setup

Install it and enter an API key. It [connects](#setup) to the host that you name; see [what it keeps](./PRIVACY.md "Privacy").

## Usage

Talk to it.

```sh
echo 你好 [nowhere](nowhere.md)
```

## Support

Ask at <https://github.com/tests/echo/issues>, or look [elsewhere](https://example.org/x).
"""
# In serverless form the model plugin of these tests is a server of its own.
SERVE = """
import http.server, os
if os.environ["INSTALL_METHOD"] == "serverless":
    address = os.environ["SERVERLESS_HOST"], int(os.environ["SERVERLESS_PORT"])
    print("Serving", flush=True)
    http.server.HTTPServer(address, http.server.SimpleHTTPRequestHandler).serve_forever()
"""
RANDOM = "Zk3vQ8xLr1TnYw6BdHs0JcPq"


@pytest.fixture(scope="module")
def good(packages):
    """Return the files of a package that the marketplace takes."""
    with zipfile.ZipFile(packages / "echo_model.difypkg") as archive:
        files = {path: archive.read(path).decode() for path in archive.namelist() if not path.endswith(".whl")}  # fmt: skip
        wheels = {path: archive.read(path) for path in archive.namelist() if path.endswith(".whl")}
    named = "author: tests\nrepo: https://github.com/tests/echo\ncontact: tests@example.org"
    files[MANIFEST] = files[MANIFEST].replace("author: tests", named)
    files[MANIFEST] = files[MANIFEST].replace("entrypoint: main }", "entrypoint: main }, minimum_dify_version: 1.10.0")  # fmt: skip
    files["README.md"] = README
    files["PRIVACY.md"] = "Nothing is stored or shared.\n"
    files["main.py"] = SERVE + files["main.py"]
    return {**{path: text.encode() for path, text in files.items()}, **wheels}


@pytest.fixture
def check(good, monkeypatch, capsys, tmp_path, console_scripts):
    """Check a package with these files changed; return the exit code and what the marketplace's checks say, by check."""
    command = console_scripts["dify-host"]
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))

    def run(change=lambda _: None, *options):
        files = dict(good)
        change(files)
        path = tmp_path / "p.difypkg"
        with zipfile.ZipFile(path, "w") as archive:
            for name, content in files.items():
                archive.writestr(name, content)
        arguments = ["check", "--marketplace", "--json", *options, str(path)]
        monkeypatch.setattr(sys, "argv", ["dify-host", *arguments])
        with pytest.raises(SystemExit) as ended:
            command.load()()
        run.results = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
        found = {
            result["name"].removeprefix("marketplace: "): result["findings"]
            for result in run.results
            if result["stage"] == "marketplace" and result["findings"]
        }
        return ended.value.code or 0, found

    return run


def swap(path, old, new):
    def spoil(files):
        text = files[path].decode()
        assert old in text
        files[path] = text.replace(old, new).encode()

    return spoil


def add(path, content):
    return lambda files: files.update({path: content.encode()})


def drop(path):
    return lambda files: files.pop(path)


def need(requirement):
    return swap("requirements.txt", "--find-links", f"{requirement}\n--find-links")


def declare(table):
    return swap("pyproject.toml", "[tool.uv]\n", f"{table}\n[tool.uv]\n")


REJECTED = [
    ("author", swap(MANIFEST, "author: tests", "author: my-dify"), "'author': expected a user or organisation without 'dify' in the name"),
    ("author", swap(MANIFEST, "author: tests", "author: langgenius"), "without 'langgenius' in the name, got 'langgenius'"),
    ("manifest", swap(MANIFEST, "repo: https://github.com/tests/echo\n", ""), "'repo': expected a value, the URL of the source repository"),
    ("manifest", swap(MANIFEST, "https://github.com/tests", "https://example.org/tests"), "'repo': expected the URL of a repository on a public host, got"),
    ("manifest", swap(MANIFEST, "repo: https", "repo: x https"), "'repo': expected the URL"),
    ("manifest", swap(MANIFEST, "contact: tests@example.org\n", ""), "'contact': expected a value, an email address"),
    ("manifest", swap(MANIFEST, "tests@example.org", "https://example.org"), "'contact': expected an email address, got 'https"),
    ("manifest", swap(MANIFEST, "description: { en_US: A plugin for the host's own tests. }", "description: {}"), "'description.en_US': expected a value"),
    ("manifest", swap(MANIFEST, "privacy: PRIVACY.md\n", ""), "'privacy': expected a value, such as PRIVACY.md"),
    ("privacy", lambda files: (drop("PRIVACY.md")(files), swap(MANIFEST, "PRIVACY.md", "https://example.org/p")(files), swap("README.md", "./PRIVACY.md", "https://example.org/p")(files)), "expected a file 'PRIVACY.md'"),
    ("privacy", lambda files: (drop("PRIVACY.md")(files), swap("README.md", "./PRIVACY.md", "https://example.org/p")(files)), "expected a file 'PRIVACY.md'"),
    ("privacy", swap(MANIFEST, "PRIVACY.md", "../PRIVACY.md"), "'privacy': expected a file of the package or a URL with https, got '../PRIVACY.md'"),
    ("privacy", add("PRIVACY.md", "!!! Please fill in the privacy policy of the plugin.\n"), "PRIVACY.md: expected a privacy policy, found none but a template"),
    ("privacy", add("PRIVACY.md", " \n"), "PRIVACY.md: expected a privacy policy"),
    ("README", drop("README.md"), "expected a file 'README.md' with text in it"),
    ("README", swap("README.md", "github.com/tests", "example.org/tests"), "expected the URL of the source repository"),
    ("README", swap("README.md", "Talk to it.", "Talk to it: 你好."), "expected English; other languages belong into readme/, as README_zh_Hans.md (2 characters are not)"),
    ("README", lambda files: files.update({"README.md": files["README.md"].decode().encode("utf-16")}), "README.md: expected text in UTF-8"),
    ("README", lambda files: files.update({"readme/README_de_DE.md": "Hör zu.".encode("latin-1")}), "readme/README_de_DE.md: expected text in UTF-8"),
    ("links", swap("README.md", "./PRIVACY.md", "../../docs/limits.md#more"), "README.md: '../../docs/limits.md#more': expected a file of the package, or a whole URL"),
    ("links", swap("README.md", "_assets/icon.svg", "_assets/screen%20shot.png"), "'_assets/screen%20shot.png': expected a file of the package"),
    ("links", swap("README.md", "Talk to it.", '<img width="9" src="shot.png">'), "'shot.png': expected a file"),
    ("links", swap("README.md", "Talk to it.", "Talk to [it][1].\n\n[1]: docs/it.md\n"), "'docs/it.md': expected a file"),
    ("links", add("readme/README_ja_JP.md", "[プライバシー](PRIVACY.ja.md) ![](_assets/icon.svg) [全](../README.md)"), "readme/README_ja_JP.md: 'PRIVACY.ja.md': expected a file"),
    ("icon", add("_assets/icon.svg", "<svg><!-- DIFY_MARKETPLACE_TEMPLATE_ICON_DO_NOT_USE --></svg>"), "_assets/icon.svg: expected an icon, found the template's"),
    ("contents", add("__pycache__/main.pyc", ""), "'__pycache__/main.pyc': expected what runs and nothing else"),
    ("contents", add(".DS_Store", ""), "'.DS_Store': expected what runs"),
    ("secrets", add("more.py", f'KEY = "sk-proj-{RANDOM}"\n'), "more.py:1: expected no secret, found an OpenAI key: sk-p…"),
    ("secrets", add("more.txt", f"\nghp_{RANDOM}\n"), "more.txt:2: expected no secret, found a GitHub token: ghp_…"),
    ("secrets", add("more.txt", "-----BEGIN RSA PRIVATE KEY-----\n"), "found a private key"),
    ("secrets", add("more.yaml", f"api_key: {RANDOM}\n"), "found 'api_key' with the value Zk3v…"),
    ("secrets", add("more.py", f"CLIENT_SECRET = '{RANDOM}'\n"), "found 'CLIENT_SECRET' with the value Zk3v…"),
    ("secrets", add("more.toml", 'my.token = "8f14e45fceea167a5a36dedd4bea2543"\n'), "found 'my.token' with the value 8f14…"),
    ("dependencies", drop("requirements.txt"), "expected a file 'requirements.txt', from which the marketplace installs"),
    ("dependencies", need("dify-plugin>=0.5,<1"), "'dify-plugin>=0.5,<1': expected '>=' or '==' and at least 0.9.0"),
    ("dependencies", need("dify_plugin"), "expected '>=' or '==' and at least 0.9.0"),
    ("dependencies", need("requests"), "requirements.txt: 'requests': expected a range of versions"),
    ("dependencies", need("x @ git+https://example.org/x"), "expected a package of the index, not a URL or a repository"),
    ("dependencies", need("https://example.org/x.whl"), "expected a package of the index, not a URL"),
    ("dependencies", need("x=1"), "'x=1': expected 'name' and a range of versions"),
    ("dependencies", lambda files: (add("more/r.txt", "x\n-r ../requirements.txt\n")(files), need("-r more/r.txt")(files)), "more/r.txt: 'x': expected a range of versions"),
    ("dependencies", declare('[project.optional-dependencies]\nall = ["x", 5]\n'), "pyproject.toml: 'project.optional-dependencies.all': 'x': expected a range"),
]  # fmt: skip

ADVISED = [
    ("manifest", swap(MANIFEST, ", minimum_dify_version: 1.10.0", ""), "'meta.minimum_dify_version': expected the first version"),
    ("privacy", add("PRIVACY.md", "All is well.\n"), "PRIVACY.md: expected it to say what is collected, stored"),
    ("README", swap("README.md", "Talk to it.", "おはようございます。" * 3), "expected English; other languages belong into readme/, as README_ja_JP.md"),
    ("README", lambda files: (swap("README.md", "says again what it is told, for as long as anybody talks to it.", "")(files), swap("README.md", "## ", "")(files), swap("README.md", 'Install it and enter an API key. It [connects](#setup) to the host that you name; see [what it keeps](./PRIVACY.md "Privacy").', "- setup, API key, connection")(files), swap("README.md", "Ask at <https://github.com/tests/echo/issues>, or look [elsewhere](https://example.org/x).", "<https://github.com/tests/echo/issues>")(files)), "expected it to say what the plugin is"),
    ("README", lambda files: (swap("README.md", "Setup", "First")(files), swap("README.md", "Install it and e", "E")(files), swap("README.md", "#setup", "#first")(files)), "expected it to say how it is set up"),
    ("README", swap("README.md", "It [connects](#setup) to the host that you name; see", "See"), "expected it to say what it connects to"),
    ("README", swap("README.md", "Usage", "More"), "expected it to say how it is used"),
    ("README", swap("README.md", "an API key", "your name"), "expected it to say which credentials it needs"),
    ("README", lambda files: (swap("README.md", "Support", "Us")(files), swap("README.md", "echo/issues", "echo")(files)), "expected it to say where to get support"),
    ("README", swap("README.md", "Talk to it.", "word " * 480), "expected about 500 words at most, which reviewers ask for; found 5"),
    ("README", add("README_zh.md", "Echo"), "README_zh.md: expected a README in another language as readme/README_ja_JP.md"),
    ("contents", add("tests/test_it.py", ""), "'tests/test_it.py': expected what runs"),
    ("contents", add("tool", "\x7fELF"), "'tool': a reviewer asks why an executable has to be in there"),
    ("secrets", add("words.txt", "word " * 250_000), "words.txt: is too large to be searched for secrets"),
    ("dependencies", need("requests>=2"), "'requests>=2': expected an upper bound as well"),
    ("dependencies", need("./wheels/x.whl"), "'./wheels/x.whl': a path, of which a reviewer has to approve"),
    ("dependencies", need("-e ."), "'-e .': a reviewer has to approve of it"),
    ("dependencies", need("-r gone.txt"), "requirements.txt: expected a file 'gone.txt'"),
]  # fmt: skip


def test_a_good_package_passes(check):
    assert check(lambda _: None, "--quick") == (0, {})
    stages = [result["stage"] for result in check.results]
    assert stages == sorted(stages, key=["package", "installation", "marketplace"].index)
    assert {result["name"] for result in check.results if result["stage"] == "marketplace"} == {
        f"marketplace: {name}"
        for name in ("author", "manifest", "README", "links", "privacy", "icon", "contents", "secrets", "dependencies")
    }  # fmt: skip


def check_one(check, fault, kind):
    name, spoil, text = fault
    code, found = check(spoil, "--quick")
    assert list(found) == [name], found
    (finding,) = found[name]
    assert finding["kind"] == kind
    assert text in finding["text"]
    return code


@pytest.mark.parametrize(
    "fault", REJECTED, ids=[f"{n}: {fault[2]}" for n, fault in enumerate(REJECTED)]
)
def test_what_the_marketplace_refuses_is_named_and_ends_with_a_code_of_its_own(check, fault):
    code = check_one(check, fault, "rejected")
    broken = any(
        finding["kind"] in {"refused", "broken"}
        for result in check.results
        for finding in result["findings"]
    )
    assert code == (1 if broken else 3)


@pytest.mark.parametrize(
    "fault", ADVISED, ids=[f"{n}: {fault[2]}" for n, fault in enumerate(ADVISED)]
)
def test_what_its_reviewers_may_ask_for_is_advice(check, fault):
    check_one(check, fault, "advice")


@pytest.mark.parametrize(
    "line",
    [
        'api_key = credentials.get("api_key")',
        "token = a1B2c3D4e5F6g7H8i9J0kLmNoP",
        'max_tokens: "4096"',
        'password: "<your password here>"',
        'secret = "${SECRET_OF_THE_ENVIRONMENT_0123}"',
        'token_url = "https://example.org/oauth/0a1b2c3d4e5f"',
        'token: "the model\'s tokens, counted"',
        'api_key = "your-own-API-key-0a1b2c3d4e5f"',
        'access_token: "aaaaaaaaaaaaaaaaaaaaaaaa"',
        'secret_name: "/run/secrets/0a1B2c3D4e5F6g7H8i9J"',
    ],
)
def test_what_only_looks_like_a_secret_is_let_be(check, line):
    assert check(add("more.py", line + "\n"), "--quick") == (0, {})


def test_pictures_are_not_searched_for_secrets(check):
    spoil = add("_assets/shot.png", f"\0PNG ghp_{RANDOM}")
    assert check(spoil, "--quick") == (0, {})


def test_without_the_option_the_marketplace_has_no_say(
    check, monkeypatch, capsys, tmp_path, console_scripts
):
    check(swap(MANIFEST, "author: tests", "author: dify"), "--quick")
    monkeypatch.setattr(sys, "argv", ["dify-host", "check", "--quick", str(tmp_path / "p.difypkg")])
    command = console_scripts["dify-host"]
    with pytest.raises(SystemExit) as ended:
        command.load()()
    assert (ended.value.code or 0, "marketplace" in capsys.readouterr().out) == (0, False)


def test_what_is_no_package_is_not_judged(check):
    code, found = check(drop(MANIFEST), "--quick")
    assert (code, found) == (1, {})


def test_what_cannot_be_read_is_left_to_the_platforms_checks(check):
    code, found = check(add("pyproject.toml", "["), "--quick")
    assert (code, found) == (1, {})


def test_an_environment_that_cannot_be_made_is_told(check, monkeypatch):
    monkeypatch.setenv("UV_PYTHON_PREFERENCE", "none")
    code, found = check()
    assert (code, list(found)) == (1, ["install from another folder"])


def notes(check):
    return {result["name"].removeprefix("marketplace: "): (result["note"], result["is_skipped"]) for result in check.results}  # fmt: skip


def test_a_good_package_installs_from_another_folder_and_serves(check):
    assert check() == (0, {})
    for name in ("install from another folder", "start in serverless form"):
        note, is_skipped = notes(check)[name]
        assert note.endswith(" s")
        assert not is_skipped


def test_a_list_that_only_works_in_its_own_folder_is_rejected(check):
    def spoil(files):
        paths = [f"./{path}\n" for path in files if path.endswith(".whl")]
        files["requirements.txt"] = "".join(paths).encode()

    code, found = check(spoil)
    assert code == 3
    (finding,) = found["install from another folder"]
    assert "`pip install -r unpacked_plugin/requirements.txt` failed: ERROR: " in finding["text"]
    assert notes(check)["start in serverless form"] == ("", True)


def test_a_plugin_that_does_not_serve_is_rejected(check):
    code, found = check(swap("main.py", "http.server.HTTPServer(", "raise SystemExit('no port', "))
    assert code == 3
    (finding,) = found["start in serverless form"]
    assert "in serverless form ended; it said: " in finding["text"]


def test_a_plugin_that_says_nothing_is_rejected(check, monkeypatch):
    monkeypatch.setattr("dify_plugin_host.checks._marketplace_install._START_SECONDS", 0.5)
    code, found = check(
        swap("main.py", "http.server.HTTPServer(", "__import__('time').sleep(60); (")
    )
    assert code == 3
    (finding,) = found["start in serverless form"]
    assert "did not answer within 0.5 s" in finding["text"]


def test_an_installation_without_a_list_is_not_tried(check):
    code, found = check(drop("requirements.txt"))
    assert (code, list(found)) == (3, ["dependencies"])
    assert notes(check)["install from another folder"] == ("", True)
