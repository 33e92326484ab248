"""A package that the marketplace takes, and many that break one of its rules, which the right one has to name."""

import pytest
from damages import pack
from marketplace_package import MANIFEST, add, drop, good_files, swap

from dify_plugin_packager.packaging import Contents
from dify_plugin_packager.rules import iter_marketplace_rules


RANDOM = "Zk3vQ8xLr1TnYw6BdHs0JcPq"


@pytest.fixture
def judge(packages, read_archive):
    """Apply the marketplace's rules to a good package with a change; return their findings by rule, where there are any."""

    def run(change):
        files = good_files(packages / "echo_model.difypkg")
        change(files)
        archive = read_archive(pack(files))
        rules = iter_marketplace_rules(archive, Contents(archive.files))
        return {name: found for name, rule in rules if (found := list(rule()))}

    return run


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
    ("privacy", add("PRIVACY.md", "!!! Please fill in the privacy policy of the plugin.\n"), "PRIVACY.md: still contains the template instead of a privacy policy"),
    ("privacy", add("PRIVACY.md", " \n"), "PRIVACY.md: expected a privacy policy"),
    ("README", drop("README.md"), "expected a file 'README.md' with text in it"),
    ("README", swap("README.md", "github.com/tests", "example.org/tests"), "expected the URL of the source repository"),
    ("README", swap("README.md", "Talk to it.", "Talk to it: 你好."), "expected English; other languages belong in readme/, as README_zh_Hans.md (2 characters are not)"),
    ("README", lambda files: files.update({"README.md": files["README.md"].decode().encode("utf-16")}), "README.md: expected text in UTF-8"),
    ("README", lambda files: files.update({"readme/README_de_DE.md": "Hör zu.".encode("latin-1")}), "readme/README_de_DE.md: expected text in UTF-8"),
    ("links", swap("README.md", "./PRIVACY.md", "../../docs/limits.md#more"), "README.md: '../../docs/limits.md#more': expected a file of the package, or a whole URL"),
    ("links", swap("README.md", "_assets/icon.svg", "_assets/screen%20shot.png"), "'_assets/screen%20shot.png': expected a file of the package"),
    ("links", swap("README.md", "Talk to it.", '<img width="9" src="shot.png">'), "'shot.png': expected a file"),
    ("links", swap("README.md", "Talk to it.", "Talk to [it][1].\n\n[1]: docs/it.md\n"), "'docs/it.md': expected a file"),
    ("links", add("readme/README_ja_JP.md", "[プライバシー](PRIVACY.ja.md) ![](_assets/icon.svg) [全](../README.md)"), "readme/README_ja_JP.md: 'PRIVACY.ja.md': expected a file"),
    ("icon", add("_assets/icon.svg", "<svg><!-- DIFY_MARKETPLACE_TEMPLATE_ICON_DO_NOT_USE --></svg>"), "_assets/icon.svg: expected an icon, found the template's"),
    ("contents", add("__pycache__/main.pyc", ""), "'__pycache__/main.pyc': expected only what is needed to run"),
    ("contents", add(".DS_Store", ""), "'.DS_Store': expected only what is needed to run"),
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
    ("manifest", swap(MANIFEST, "https://github.com/tests/echo", "https://github.com/YOUR-NAME/echo"), "'repo': expected your own, got the placeholder 'https://github.com/YOUR-NAME/echo'"),
    ("manifest", swap(MANIFEST, "tests@example.org", "you@example.com"), "'contact': expected your own, got the placeholder 'you@example.com'"),
    ("README", swap("README.md", "github.com/tests", "github.com/YOUR-NAME"), "expected the URL of the source repository, got the placeholder 'https://github.com/YOUR-NAME/echo/issues'"),
    ("manifest", swap(MANIFEST, ", minimum_dify_version: 1.10.0", ""), "'meta.minimum_dify_version': expected the first version"),
    ("privacy", add("PRIVACY.md", "All is well.\n"), "PRIVACY.md: expected it to say what is collected, stored"),
    ("README", swap("README.md", "Talk to it.", "おはようございます。" * 3), "expected English; other languages belong in readme/, as README_ja_JP.md"),
    ("README", lambda files: (swap("README.md", "says again what it is told, for as long as anybody talks to it.", "")(files), swap("README.md", "## ", "")(files), swap("README.md", 'Install it and enter an API key. It [connects](#setup) to the host that you name; see [what it keeps](./PRIVACY.md "Privacy").', "- setup, API key, connection")(files), swap("README.md", "Ask at <https://github.com/tests/echo/issues>, or look [elsewhere](https://example.org/x).", "<https://github.com/tests/echo/issues>")(files)), "expected it to say what the plugin is"),
    ("README", lambda files: (swap("README.md", "Setup", "First")(files), swap("README.md", "Install it and e", "E")(files), swap("README.md", "#setup", "#first")(files)), "expected it to say how it is set up"),
    ("README", swap("README.md", "It [connects](#setup) to the host that you name; see", "See"), "expected it to say what it connects to"),
    ("README", swap("README.md", "Usage", "More"), "expected it to say how it is used"),
    ("README", swap("README.md", "an API key", "your name"), "expected it to say which credentials it needs"),
    ("README", lambda files: (swap("README.md", "Support", "Us")(files), swap("README.md", "echo/issues", "echo")(files)), "expected it to say where to get support"),
    ("README", swap("README.md", "Talk to it.", "word " * 480), "expected about 500 words at most, which reviewers ask for; found 5"),
    ("README", add("README_zh.md", "Echo"), "README_zh.md: expected a README in another language as readme/README_ja_JP.md"),
    ("contents", add("tests/test_it.py", ""), "'tests/test_it.py': expected only what is needed to run"),
    ("contents", add("tool", "\x7fELF"), "'tool': a reviewer will ask why an executable is needed"),
    ("secrets", add("words.txt", "word " * 250_000), "words.txt: is too large to be searched for secrets"),
    ("dependencies", need("requests>=2"), "'requests>=2': expected an upper bound as well"),
    ("dependencies", need("./wheels/x.whl"), "'./wheels/x.whl': a path; a reviewer has to approve it"),
    ("dependencies", need("-e ."), "'-e .': a reviewer has to approve it"),
    ("dependencies", need("-r gone.txt"), "requirements.txt: expected a file 'gone.txt'"),
]  # fmt: skip


def check_one(judge, fault, kind):
    name, spoil, text = fault
    found = judge(spoil)
    assert list(found) == [name], found
    (finding,) = found[name]
    assert finding.kind == kind
    assert text in finding.text


@pytest.mark.parametrize(
    "fault", REJECTED, ids=[f"{n}: {fault[2]}" for n, fault in enumerate(REJECTED)]
)
def test_what_the_marketplace_refuses_is_named(judge, fault):
    check_one(judge, fault, "rejected")


@pytest.mark.parametrize(
    "fault", ADVISED, ids=[f"{n}: {fault[2]}" for n, fault in enumerate(ADVISED)]
)
def test_what_its_reviewers_may_ask_for_is_advice(judge, fault):
    check_one(judge, fault, "advice")


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
def test_what_only_looks_like_a_secret_is_let_be(judge, line):
    assert judge(add("more.py", line + "\n")) == {}


def test_pictures_are_not_searched_for_secrets(judge):
    spoil = add("_assets/shot.png", f"\0PNG ghp_{RANDOM}")
    assert judge(spoil) == {}


def test_what_cannot_be_read_is_left_to_the_platforms_rules(judge):
    assert judge(add("pyproject.toml", "[")) == {}
