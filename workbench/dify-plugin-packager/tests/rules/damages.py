"""Damaged packages by kind of damage, for the check and for the daemon's own decoder.

`python damages.py FOLDER` writes them all, each as a `.difypkg` under its name, with `index.json` beside them.
"""

import functools
import io
import json
import stat
import struct
import sys
import zipfile
from pathlib import Path


PLUGINS = Path(__file__).parents[3] / "dify-plugin-host" / "tests" / "plugins"
MANIFEST, ECHO, WORDS = "manifest.yaml", "models/llm/echo-1.yaml", "tools/words.yaml"
PROVIDER, TOOLS, AGENT = "provider/echo.yaml", "provider/demo.yaml", "provider/small.yaml"
STEPS, POSITION = "strategies/steps.yaml", "models/llm/_position.yaml"

OTHER = """version: 0.0.1
type: plugin
author: tests
name: other
label: { en_US: Other }
description: { en_US: Other }
icon: icon.svg
created_at: "2026-11-21T00:00:00Z"
resource: { memory: 1048576 }
plugins: { KIND: [provider/other.yaml] }
meta: { version: 0.0.2, arch: [amd64], runner: { language: python, version: "3.12", entrypoint: main } }
"""
IDENTITY = "identity: { author: tests, name: other, label: { en_US: Other }, description: { en_US: Other }, icon: icon.svg }\n"
FIELD = "{ type: secret-input, label: { en_US: Key } }"
PARAMETER = (
    "{ name: a, label: { en_US: A }, type: string, required: true, description: { en_US: A } }"
)
ITEM = f"identity: {{ author: tests, name: item, label: {{ en_US: Item }} }}\ndescription: {{ en_US: Item }}\nparameters: [{PARAMETER}]\n"
OTHERS = {
    "endpoints": {
        "provider/other.yaml": "settings: [{ name: key, type: text-input, label: { en_US: Key } }]\nendpoints: [endpoints/item.yaml]\n",
        "endpoints/item.yaml": "path: /item\nmethod: GET\nextra: { python: { source: main.py } }\n",
    },
    "datasources": {
        "provider/other.yaml": f"{IDENTITY}provider_type: website_crawl\ncredentials_schema: {{ key: {FIELD} }}\ndatasources: [datasources/item.yaml]\n",
        "datasources/item.yaml": ITEM,
    },
    "triggers": {
        "provider/other.yaml": f"{IDENTITY}subscription_schema: {{ key: {FIELD} }}\nsubscription_constructor: {{ parameters: [{PARAMETER}], credentials_schema: {{ key: {FIELD} }} }}\nevents: [events/item.yaml]\n",
        "events/item.yaml": ITEM,
    },
}


def base(name):
    """Return the files of a sound package, to be damaged."""
    return dict(_read_base(name))


@functools.cache
def _read_base(name):
    if name in OTHERS:
        files = {
            MANIFEST: OTHER.replace("KIND", name),
            "main.py": "",
            "_assets/icon.svg": "<svg/>",
            **OTHERS[name],
        }
        return {path: text.encode() for path, text in files.items()}
    return {
        path.relative_to(PLUGINS / name).as_posix(): path.read_bytes()
        for path in sorted((PLUGINS / name).rglob("*"))
        if path.is_file() and "__pycache__" not in path.parts
    }


def swap(path, old, new):
    def damage(files):
        text = files[path].decode()
        assert old in text, (path, old)
        files[path] = text.replace(old, new, 1).encode()

    return damage


def put(path, content):
    return lambda files: files.update(
        {path: content if isinstance(content, bytes) else content.encode()}
    )


def drop(path):
    return lambda files: files.pop(path)


def append(path, text):
    return lambda files: files.update({path: files[path] + text.encode()})


def entry(name, content="x", **attributes):
    """Make a damage of the archive: one entry more."""

    def damage(files):
        info = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
        for key, value in attributes.items():
            setattr(info, key, value)
        files.setdefault("", []).append((info, content))

    return damage


def raw(change):
    """Make a damage of the archive's bytes."""
    return lambda files: files.update({"\0": change})


def pack(files):
    """Return the bytes of a package."""
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, content in files.items():
            if path not in {"", "\0"}:
                archive.writestr(path, content)
        for info, content in files.get("", ()):
            archive.writestr(info, content)
    return files["\0"](target.getvalue()) if "\0" in files else target.getvalue()


def deep(depth):
    return f"deep: {'[' * depth}{']' * depth}\n"


def fields(kind, name, path, spots, value):
    """Iterate over damages of one kind in several fields, each written `old -> label`."""
    return {
        f"{kind}: {label}": (name, swap(path, old, old.partition(":")[0] + ": " + value))
        for old, label in spots
    }


M, A, T = "echo_model", "small_agent", "demo_tools"
MANIFEST_TEXTS = (
    ("version: 0.0.1", "version"),
    ("name: echo_model", "name"),
    ("icon: icon.svg", "icon"),
    ("privacy: PRIVACY.md", "privacy"),
)
MANIFEST_MAPPINGS = (
    ("label: { en_US: Echo }", "label"),
    ("resource: { memory: 1048576, permission: {} }", "resource"),
    ("plugins: { models: [provider/echo.yaml] }", "plugins"),
)
MODEL_TEXTS = (("model: echo-1", "model"), ("model_type: llm", "model_type"))
MODEL_LISTS = (("features: [tool-call, stream-tool-call, structured-output]", "features"),)

DAMAGES = {
    **fields("a mapping for a text", M, MANIFEST, MANIFEST_TEXTS, "{ a: b }"),
    **fields("a list for a text", M, MANIFEST, MANIFEST_TEXTS, "[a]"),
    **fields("null for a text", M, MANIFEST, MANIFEST_TEXTS, "null"),
    **fields("a number for a text", M, MANIFEST, MANIFEST_TEXTS, "7"),
    **fields("a text for a mapping", M, MANIFEST, MANIFEST_MAPPINGS, "text"),
    **fields("a list for a mapping", M, MANIFEST, MANIFEST_MAPPINGS, "[a]"),
    **fields("null for a mapping", M, MANIFEST, MANIFEST_MAPPINGS, "null"),
    **fields("an empty mapping", M, MANIFEST, MANIFEST_MAPPINGS, "{}"),
    **fields("a mapping for a model's text", M, ECHO, MODEL_TEXTS, "{ a: b }"),
    **fields("null for a model's text", M, ECHO, MODEL_TEXTS, "null"),
    **fields("a text for a model's list", M, ECHO, MODEL_LISTS, "vision"),
    **fields("null for a model's list", M, ECHO, MODEL_LISTS, "null"),
    "no manifest": (M, drop(MANIFEST)),
    "an empty manifest": (M, put(MANIFEST, "")),
    "a manifest that is a list": (M, put(MANIFEST, "- a")),
    "a manifest that is a text": (M, put(MANIFEST, "hello")),
    "broken YAML: manifest": (M, put(MANIFEST, "a: [")),
    "broken YAML: provider": (M, put(PROVIDER, "a: [")),
    "broken YAML: model": (M, put(ECHO, "a: [")),
    "broken YAML: tool": (T, put(WORDS, "\ta: 1")),
    "broken YAML: strategy": (A, put(STEPS, "a: 'b")),
    "no UTF-8": (M, put(MANIFEST, b"a: \xff")),
    "a byte order mark": (M, lambda files: files.update({MANIFEST: b"\xef\xbb\xbf" + files[MANIFEST]})),
    "UTF-16": (M, lambda files: files.update({MANIFEST: files[MANIFEST].decode().encode("utf-16")})),
    "a control character": (M, append(MANIFEST, "x: a\x07b\n")),
    "a key twice: manifest": (M, append(MANIFEST, "type: plugin\n")),
    "a key twice: model": (M, append(ECHO, "model: echo-1\n")),
    "a key twice: parameter": (T, swap(WORDS, "    type: string", "    type: string\n    type: string")),
    "a key twice: unknown to the daemon": (M, append(MANIFEST, "zzz: { a: 1, a: 2 }\n")),
    "a key twice: in what the SDK alone reads": (M, swap(PROVIDER, "extra: { python: { provider_source", "extra: { python: { provider_source: a.py, provider_source")),
    "a second document": (M, append(MANIFEST, "---\nb: [\n")),
    "an unknown anchor": (M, append(MANIFEST, "zzz: *nowhere\n")),
    "an anchor in itself": (M, swap(ECHO, "mode: chat", "mode: &a [*a]")),
    "a merge of a text": (M, append(ECHO, "<<: text\n")),
    "an unknown tag": (M, swap(MANIFEST, "name: echo_model", "name: !mine echo_model")),
    "a tag that does not fit": (M, swap(MANIFEST, "memory: 1048576", "memory: !!int many")),
    "nested 350 deep": (M, append(MANIFEST, deep(350))),
    "nested 900 deep": (M, append(MANIFEST, deep(900))),
    "nested 10,001 deep": (M, append(MANIFEST, deep(10_001))),
    "an author in capitals": (M, swap(MANIFEST, "author: tests", "author: Tests")),
    "an author with a slash": (M, swap(MANIFEST, "author: tests", "author: a/b")),
    "an author that climbs": (M, swap(MANIFEST, "author: tests", "author: ../../x")),
    "an author of 65 letters": (M, swap(MANIFEST, "author: tests", f"author: {'a' * 65}")),
    "an author that is a UUID": (M, swap(MANIFEST, "author: tests", "author: 0b9f7c7e-14b6-4d3f-8a57-3d7a4f6d2f10")),
    "an author that is a UUID without hyphens": (M, swap(MANIFEST, "author: tests", "author: 0b9f7c7e14b64d3f8a573d7a4f6d2f1a")),
    "no author": (M, swap(MANIFEST, "author: tests\n", "")),
    "an empty author": (M, swap(MANIFEST, "author: tests", "author: ''")),
    "a name with a dot": (M, swap(MANIFEST, "name: echo_model", "name: echo.model")),
    "a name in capitals": (M, swap(MANIFEST, "name: echo_model", "name: Echo")),
    "a name of 129 letters": (M, swap(MANIFEST, "name: echo_model", f"name: {'a' * 129}")),
    "no name": (M, swap(MANIFEST, "name: echo_model\n", "")),
    "no version": (M, swap(MANIFEST, "version: 0.0.1\n", "")),
    "a version of two parts": (M, swap(MANIFEST, "version: 0.0.1", "version: '0.1'")),
    "a version of one part": (M, swap(MANIFEST, "version: 0.0.1", "version: '1'")),
    "a version of five parts": (M, swap(MANIFEST, "version: 0.0.1", "version: 1.2.3.4.5")),
    "a version with a word": (M, swap(MANIFEST, "version: 0.0.1", "version: 0.0.1-wild")),
    "a version with a plus": (M, swap(MANIFEST, "version: 0.0.1", "version: 0.0.1+b")),
    "a version that is a number": (M, swap(MANIFEST, "version: 0.0.1", "version: 0.1")),
    "another type": (M, swap(MANIFEST, "type: plugin", "type: bundle")),
    "no type": (M, swap(MANIFEST, "type: plugin\n", "")),
    "no English label": (M, swap(MANIFEST, "{ en_US: Echo }", "{ ja_JP: Echo }")),
    "a label of 1,024 letters": (M, swap(MANIFEST, "en_US: Echo", f"en_US: {'e' * 1024}")),
    "a null translation": (M, swap(MANIFEST, "{ en_US: Echo }", "{ en_US: Echo, ja_JP: null }")),
    "a translation that is a list": (M, swap(MANIFEST, "{ en_US: Echo }", "{ en_US: Echo, ja_JP: [a] }")),
    "null tags": (M, append(MANIFEST, "tags: null\n")),
    "an unknown tag of a plugin": (M, append(MANIFEST, "tags: [ai]\n")),
    "tags that are a text": (M, append(MANIFEST, "tags: agent\n")),
    "a time with a space and a zone": (M, swap(MANIFEST, '"2026-11-21T00:00:00Z"', "2026-11-21 00:00:00Z")),
    "a time with a space": (M, swap(MANIFEST, '"2026-11-21T00:00:00Z"', "2026-11-21 00:00:00")),
    "a time with a space, in quotes": (M, swap(MANIFEST, '"2026-11-21T00:00:00Z"', '"2026-11-21 00:00:00Z"')),
    "a space before a time": (M, swap(MANIFEST, '"2026-11-21T00:00:00Z"', '" 2026-11-21T00:00:00Z"')),
    "a day for a time": (M, swap(MANIFEST, '"2026-11-21T00:00:00Z"', "2026-11-21")),
    "a day for a time, in quotes": (M, swap(MANIFEST, '"2026-11-21T00:00:00Z"', '"2026-11-21"')),
    "month 13": (M, swap(MANIFEST, "2026-11-21T", "2026-13-21T")),
    "month 13, without quotes": (M, swap(MANIFEST, '"2026-11-21T00:00:00Z"', "2026-13-21T00:00:00Z")),
    "the 30th of February": (M, swap(MANIFEST, "2026-11-21T", "2026-02-30T")),
    "a leap day": (M, swap(MANIFEST, "2026-11-21T", "2028-02-29T")),
    "hour 24": (M, swap(MANIFEST, "T00:00:00Z", "T24:00:00Z")),
    "a time with short numbers": (M, swap(MANIFEST, '"2026-11-21T00:00:00Z"', "2026-1-2T3:4:5Z")),
    "a time with short numbers, in quotes": (M, swap(MANIFEST, '"2026-11-21T00:00:00Z"', '"2026-1-2T3:4:5Z"')),
    "a time without a zone": (M, swap(MANIFEST, "00:00:00Z", "00:00:00")),
    "a time with a zone and a fraction": (M, swap(MANIFEST, "00:00:00Z", "00:00:00.123456+08:00")),
    "a word for a time": (M, swap(MANIFEST, '"2026-11-21T00:00:00Z"', "yesterday")),
    "a number for a time": (M, swap(MANIFEST, '"2026-11-21T00:00:00Z"', "1764000000")),
    "no time": (M, swap(MANIFEST, 'created_at: "2026-11-21T00:00:00Z"\n', "")),
    "a word for an integer": (M, swap(MANIFEST, "memory: 1048576", "memory: 1GB")),
    "an integer in quotes": (M, swap(MANIFEST, "memory: 1048576", 'memory: "1048576"')),
    "a fraction for an integer": (M, swap(MANIFEST, "memory: 1048576", "memory: 1.5")),
    "an integer with underscores": (M, swap(MANIFEST, "memory: 1048576", "memory: 1_048_576")),
    "a hexadecimal integer": (M, swap(MANIFEST, "memory: 1048576", "memory: 0x100000")),
    "an integer of 21 digits": (M, swap(MANIFEST, "memory: 1048576", f"memory: {10**20}")),
    "no memory": (M, swap(MANIFEST, "memory: 1048576, ", "")),
    "a negative size": (T, swap(MANIFEST, "size: 1048576", "size: -1")),
    "a size of 1": (T, swap(MANIFEST, "size: 1048576", "size: 1")),
    "a word for a truth value": (T, swap(MANIFEST, "tool: {enabled: true}", "tool: {enabled: maybe}")),
    "yes for a truth value": (T, swap(MANIFEST, "tool: {enabled: true}", "tool: {enabled: yes}")),
    "yes in quotes for a truth value": (T, swap(MANIFEST, "tool: {enabled: true}", "tool: {enabled: 'yes'}")),
    "true in quotes for a truth value": (T, swap(MANIFEST, "tool: {enabled: true}", "tool: {enabled: 'true'}")),
    "1 for a truth value": (T, swap(MANIFEST, "tool: {enabled: true}", "tool: {enabled: 1}")),
    "no provider": (M, swap(MANIFEST, "[provider/echo.yaml]", "[]")),
    "providers that are a text": (M, swap(MANIFEST, "[provider/echo.yaml]", "provider/echo.yaml")),
    "a provider twice": (M, swap(MANIFEST, "[provider/echo.yaml]", "[provider/echo.yaml, provider/echo.yaml]")),
    "two kinds of provider": (M, lambda files: (swap(MANIFEST, "[provider/echo.yaml]", "[provider/echo.yaml], agent_strategies: [a.yaml]")(files), put("a.yaml", IDENTITY)(files))),
    "tools beside endpoints": (T, lambda files: (swap(MANIFEST, "plugins:\n", "plugins:\n  endpoints: [e.yaml]\n")(files), put("e.yaml", "settings: []\n")(files))),
    "a path with a dot": (M, swap(MANIFEST, "[provider/echo.yaml]", "[./provider/echo.yaml]")),
    "a path that climbs": (M, swap(MANIFEST, "[provider/echo.yaml]", "[provider/../provider/echo.yaml]")),
    "a path of 129 letters": (M, lambda files: (swap(MANIFEST, "provider/echo.yaml", "p" * 129)(files), put("p" * 129, files[PROVIDER].decode())(files))),
    "a missing provider file": (M, drop(PROVIDER)),
    "a missing tool file": (T, drop(WORDS)),
    "a missing strategy file": (A, drop(STEPS)),
    "a missing position file": (M, drop(POSITION)),
    "a null position": (M, swap(PROVIDER, "position: models/llm/_position.yaml", "position: null")),
    "a position that is a mapping": (M, put(POSITION, "llm: [echo-1]")),
    "a position of numbers": (M, put(POSITION, "[1, 2]")),
    "a position without a model": (M, put(POSITION, "[echo-9]")),
    "an empty position": (M, put(POSITION, "")),
    "another machine": (M, swap(MANIFEST, "amd64", "x86")),
    "another language": (M, swap(MANIFEST, "language: python", "language: go")),
    "an odd minimum version": (M, swap(MANIFEST, "arch: [amd64, arm64]", "arch: [arm64], minimum_dify_version: new")),
    "a repository that is no address": (M, append(MANIFEST, "repo: github\n")),
    "meta.version 0.0.1": (A, swap(MANIFEST, "version: 0.0.2", "version: 0.0.1")),
    "an unknown key": (M, append(MANIFEST, "colour: blue\n")),
    "a provider in the manifest": (M, append(MANIFEST, "model: { provider: [a] }\n")),
    "a missing icon: plugin": (M, swap(MANIFEST, "icon: icon.svg", "icon: gone.svg")),
    "a missing icon: dark": (M, append(MANIFEST, "icon_dark: gone.svg\n")),
    "a missing icon: model": (M, swap(PROVIDER, "icon_small: { en_US: icon.svg }", "icon_small: { zh_Hans: gone.svg }")),
    "a missing icon: model, dark": (M, swap(PROVIDER, "icon_small:", "icon_large_dark: { en_US: gone.svg }\nicon_small:")),
    "a missing icon: tools": (T, swap(TOOLS, "icon: icon.svg", "icon: gone.svg")),
    "a missing icon: tools, dark": (T, swap(TOOLS, "icon: icon.svg", "icon: icon.svg\n  icon_dark: gone.svg")),
    "a missing icon: strategies": (A, swap(AGENT, "icon: icon.svg", "icon: gone.svg")),
    "a missing icon: data source": ("datasources", swap("datasources/item.yaml", "name: item,", "name: item, icon: gone.svg,")),
    "no icon of strategies": (A, swap(AGENT, ", icon: icon.svg", "")),
    "no assets": (M, drop("_assets/icon.svg")),
    "an unknown model type": (M, swap(PROVIDER, "[llm]", "[chat]")),
    "no model type": (M, swap(PROVIDER, "[llm]", "[]")),
    "an unknown method": (M, swap(PROVIDER, "[predefined-model]", "[magic]")),
    "an unknown type of credential": (M, swap(PROVIDER, "type: secret-input", "type: password")),
    "a number as a default of a credential": (M, swap(PROVIDER, 'default: "300"', "default: 300")),
    "a credential twice": (M, swap(PROVIDER, "variable: request_timeout_seconds", "variable: openai_api_key")),
    "credentials that are a mapping": (M, swap(PROVIDER, "  credential_form_schemas:\n    -", "  credential_form_schemas:\n    a:")),
    "a pattern with two stars": (M, swap(PROVIDER, '"models/llm/*.yaml"', '"models/**/*.yaml"')),
    "a pattern without a match": (M, swap(PROVIDER, "models/llm/*.yaml", "models/llms/*.yaml")),
    "a pattern that is broken": (M, swap(PROVIDER, "models/llm/*.yaml", "models/llm/[*.yaml")),
    "a pattern with a class": (M, swap(PROVIDER, "models/llm/*.yaml", "models/llm/echo-[12].yaml")),
    "a pattern that is a text": (M, swap(PROVIDER, '["models/llm/*.yaml"]', '"models/llm/*.yaml"')),
    "null patterns": (M, swap(PROVIDER, '["models/llm/*.yaml"]', "null")),
    "models.llm that is a list": (M, swap(PROVIDER, '  llm:\n    predefined: ["models/llm/*.yaml"]\n    position: models/llm/_position.yaml', "  llm: []")),
    "models that are null": (M, swap(PROVIDER, 'models:\n  llm:\n    predefined: ["models/llm/*.yaml"]\n    position: models/llm/_position.yaml', "models: null")),
    "models that are a text": (M, swap(PROVIDER, 'models:\n  llm:\n    predefined: ["models/llm/*.yaml"]\n    position: models/llm/_position.yaml', "models: all")),
    "no source of a provider": (M, swap(PROVIDER, "provider_source: provider/echo.py, ", "")),
    "a missing label of a model": (M, swap(ECHO, "label: { en_US: Echo 1 }\n", "")),
    "a text as a model's label": (M, swap(ECHO, "label: { en_US: Echo 1 }", "label: Echo 1")),
    "an unknown feature": (M, swap(ECHO, "features: [", "features: [telepathy, ")),
    "an unknown property": (M, swap(ECHO, "context_size", "context")),
    "a property with a number as key": (M, swap(ECHO, "mode: chat", "mode: chat, 7: a")),
    "a property that is no number": (M, swap(ECHO, "context_size: 1000", "context_size: .nan")),
    "no properties": (M, swap(ECHO, "model_properties: { mode: chat, context_size: 1000 }\n", "")),
    "the same model twice": (M, swap(ECHO, "model: echo-1", "model: echo-2")),
    "integers as options of a rule": (M, swap(ECHO, "options: [low, high]", "options: [low, 1]")),
    "truth values as options of a rule": (M, swap(ECHO, "options: [low, high]", "options: [on, off]")),
    "a mapping as an option of a rule": (M, swap(ECHO, "options: [low, high]", "options: [{ a: b }]")),
    "null rules": (M, swap(ECHO, "parameter_rules:\n  - { name: reasoning_effort, label: { en_US: Effort }, type: string, options: [low, high] }\n  - { name: temperature, use_template: temperature, default: 0.3, max: 1 }\n", "parameter_rules: null\n")),
    "an unknown template": (M, swap(ECHO, "use_template: temperature", "use_template: heat")),
    "a rule without a type": (M, swap(ECHO, ", use_template: temperature, default: 0.3", "")),
    "a rule of an unknown type": (M, swap(ECHO, "type: string", "type: colour")),
    "a rule twice": (M, swap(ECHO, "name: temperature", "name: reasoning_effort")),
    "a word as a maximum": (M, swap(ECHO, "max: 1", "max: high")),
    "an endless maximum": (M, swap(ECHO, "max: 1", "max: .inf")),
    "a list as a default": (M, swap(ECHO, "default: 0.3", "default: [0.3]")),
    "a default with a number as key": (M, swap(ECHO, "default: 0.3", "default: { 1: a }")),
    "a number as a price": (M, swap(ECHO, 'input: "1"', "input: 1")),
    "a word as a price": (M, swap(ECHO, 'input: "1"', "input: cheap")),
    "a list as a price": (M, swap(ECHO, 'input: "1"', "input: [1]")),
    "no currency": (M, swap(ECHO, ", currency: USD", "")),
    "a name with a space": (A, swap(AGENT, "name: small", "name: small agent")),
    "the same strategy twice": (A, swap(STEPS, "name: steps", "name: quiet")),
    "an unknown feature of a strategy": (A, swap(STEPS, "[history-messages]", "[memory]")),
    "an unknown type of a strategy's parameter": (A, swap(STEPS, "type: boolean", "type: checkbox")),
    "a select without options": (A, swap(STEPS, "type: boolean", "type: select")),
    "a list as a default of a strategy": (A, swap(STEPS, "default: 3", "default: [3]")),
    "an unknown scope": (A, swap(STEPS, "type: any", "type: any, scope: text")),
    "a parameter twice": (A, swap(STEPS, "name: query", "name: instruction")),
    "null parameters of a strategy": (A, lambda files: put(STEPS, files[STEPS].decode().partition("parameters:")[0] + "parameters: null\nextra: { python: { source: strategies/steps.py } }\n")(files)),
    "strategies in the provider": (A, swap(AGENT, "[strategies/steps.yaml", "[{ identity: [a] }, strategies/steps.yaml")),
    "a null strategy": (A, swap(AGENT, "[strategies/steps.yaml", "[null, strategies/steps.yaml")),
    "an unknown tag of tools": (T, swap(TOOLS, "tags: [utilities]", "tags: [tools]")),
    "null tags of tools": (T, swap(TOOLS, "tags: [utilities]", "tags: null")),
    "credentials of tools as a list": (T, swap(TOOLS, "  token:\n    type", "  - name: token\n    type")),
    "a credential of tools that is a text": (T, swap(TOOLS, "credentials_for_provider:", "credentials_for_provider:\n  other: text")),
    "an unknown credential of tools": (T, swap(TOOLS, "type: secret-input", "type: password")),
    "tools in the provider": (T, swap(TOOLS, "  - tools/words.yaml", "  - { identity: { name: [a] } }\n  - tools/words.yaml")),
    "the same tool twice": (T, swap(WORDS, "name: words", "name: blob")),
    "an unknown type of a tool's parameter": (T, swap(WORDS, "type: string", "type: text")),
    "an unknown form": (T, swap(WORDS, "form: llm", "form: model")),
    "integers as options of a tool": (T, swap(WORDS, "{value: space,", "{value: 1,")),
    "truth values as options of a tool": (T, swap(WORDS, "{value: space,", "{value: yes,")),
    "an option of a tool without a label": (T, swap(WORDS, ", label: {en_US: a space}", "")),
    "a list as a default of one choice": (T, swap(WORDS, "default: space", "default: [space]")),
    "several choices of a text": (T, swap(WORDS, "type: string", "type: string\n    multiple: true")),
    "null parameters of a tool": (T, lambda files: put(WORDS, files[WORDS].decode().partition("parameters:")[0] + "parameters: null\nextra: { python: { source: tools/words.py } }\n")(files)),
    "a schema that is a text": (T, append(WORDS, "output_schema: text\n")),
    "a schema with a number as key": (T, append(WORDS, "output_schema: { a: { 1: b } }\n")),
    "no description of a tool": (T, swap(WORDS, 'description:\n  human: {en_US: "Sends a text word by word."}\n  llm: "Sends a text word by word."\n', "")),
    "no source of a tool": (T, swap(WORDS, "    source: tools/words.py", "    path: tools/words.py")),
    "an endpoint's settings as a mapping": ("endpoints", swap("provider/other.yaml", "settings: [{ name: key,", "settings: { key: [{")),
    "settings that are a mapping": ("endpoints", swap("provider/other.yaml", "settings: [{ name: key, type: text-input, label: { en_US: Key } }]", "settings: { key: { type: text-input } }")),
    "a missing endpoint": ("endpoints", drop("endpoints/item.yaml")),
    "an endpoint in the provider": ("endpoints", swap("provider/other.yaml", "[endpoints/item.yaml]", "[{ path: [a] }, endpoints/item.yaml]")),
    "an endpoint that hides perhaps": ("endpoints", append("endpoints/item.yaml", "hidden: perhaps\n")),
    "an endpoint without a method": ("endpoints", swap("endpoints/item.yaml", "method: GET\n", "")),
    "a missing data source": ("datasources", drop("datasources/item.yaml")),
    "a data source with a text as parameters": ("datasources", swap("datasources/item.yaml", f"[{PARAMETER}]", "text")),
    "credentials of data sources that are a text": ("datasources", swap("provider/other.yaml", f"{{ key: {FIELD} }}", "text")),
    "a missing event": ("triggers", drop("events/item.yaml")),
    "a text as a field of a subscription": ("triggers", swap("provider/other.yaml", f"subscription_schema: {{ key: {FIELD} }}", "subscription_schema: { key: text }")),
    "a text as a field of a constructor": ("triggers", swap("provider/other.yaml", f"credentials_schema: {{ key: {FIELD} }}", "credentials_schema: { key: text }")),
    "a constructor that is a text": ("triggers", lambda files: put("provider/other.yaml", files["provider/other.yaml"].decode().partition("subscription_constructor")[0] + "subscription_constructor: text\nevents: [events/item.yaml]\n")(files)),
    "an event with numbers as options": ("triggers", swap("events/item.yaml", "required: true", "required: true, options: [{ value: 1, label: { en_US: A } }]")),
    "a subscription's fields as a list": ("triggers", swap("provider/other.yaml", f"subscription_schema: {{ key: {FIELD} }}", f"subscription_schema: [{FIELD}]")),
    "a data source without credentials": ("datasources", swap("provider/other.yaml", f"credentials_schema: {{ key: {FIELD} }}\n", "")),
    "a provider that is a text": ("datasources", put("provider/other.yaml", "text")),
    "models in the provider": (M, swap(PROVIDER, 'models:\n  llm:\n    predefined: ["models/llm/*.yaml"]\n    position: models/llm/_position.yaml', "models: [{ model: [a] }]")),
    "a tag of a fraction": (M, swap(ECHO, "max: 1", "max: !!float 1")),
    "a number that is too large": (M, swap(ECHO, "max: 1", "max: 1e400")),
    "aliases that grow": (M, swap(ECHO, "mode: chat", "mode: chat, a: &a [1, 1, 1, 1, 1, 1, 1, 1], " + ", ".join(f"{b}: &{b} [{', '.join([f'*{a}'] * 8)}]" for a, b in zip("abcdefg", "bcdefgh", strict=True)))),
    "base64 for a text": (M, swap(MANIFEST, "name: echo_model", "name: !!binary ZWNob19tb2RlbA==")),
    "broken base64": (M, swap(MANIFEST, "name: echo_model", "name: !!binary '*'")),
    "a mapping for a truth value": (T, swap(MANIFEST, "tool: {enabled: true}", "tool: {enabled: {a: b}}")),
    "a mapping for an integer": (M, swap(MANIFEST, "memory: 1048576", "memory: { a: b }")),
    "a mapping for a number": (M, swap(ECHO, "max: 1", "max: { a: b }")),
    "a list for a time": (M, swap(MANIFEST, '"2026-11-21T00:00:00Z"', "[2026]")),
    "a mapping for a time": (M, swap(MANIFEST, '"2026-11-21T00:00:00Z"', "{ a: b }")),
    "a mapping as a price": (M, swap(ECHO, 'input: "1"', "input: { a: b }")),
    "a mapping as a default": (M, swap(ECHO, "default: 0.3", "default: { a: b }")),
    "an alias as a key": (T, append(WORDS, "output_schema: { a: &k name, b: { *k : 1 } }\n")),
    "a list as a key of a property": (M, swap(ECHO, "mode: chat", "mode: chat, ? [a] : b")),
    "a list as a key": (M, append(MANIFEST, "? [a]\n: b\n")),
    "a merge of a mapping": (M, lambda files: files.update({MANIFEST: b"zzz: &z { name: other, colour: blue }\n<<: *z\n" + files[MANIFEST]})),
    "a merge of two mappings": (M, lambda files: files.update({MANIFEST: b"<<: [{ colour: blue }, { privacy: [a] }]\n" + files[MANIFEST].replace(b"privacy: PRIVACY.md\n", b"")})),
    "a merge of itself": (M, swap(ECHO, "{ mode: chat,", "&m { <<: *m, mode: chat,")),
    "a merge in turns": (M, swap(ECHO, "{ mode: chat,", "&m { a: &n { <<: *m }, <<: *n, mode: chat,")),
    "nested 900 deep in a schema": (T, append(WORDS, f"output_schema: {{ a: {'[' * 900}{']' * 900} }}\n")),
    "an unknown tag in a model": (M, swap(ECHO, "model: echo-1", "model: !mine echo-1")),
    "an unknown tag in a position": (M, put(POSITION, "[!mine echo-1]")),
    "a pattern with a question mark": (M, swap(PROVIDER, "models/llm/*.yaml", "models/llm/echo-?.yaml")),
    "an entry with an umlaut": (M, entry("\u00e4.py")),
    "no entry point": (M, drop("main.py")),
    "no source of models": (M, drop("models/llm/llm.py")),
    "a source that is no Python": (M, put("provider/echo.py", "def f(:")),
    "no README": (M, drop("README.md")),
    "no privacy policy": (M, drop("PRIVACY.md")),
    "leftovers": (M, put(".env.example", "KEY=")),
    "secrets": (M, put(".env", "KEY=secret")),
    "an entry that climbs": (M, entry("../evil.py")),
    "an entry that climbs within": (M, entry("a/../b.py")),
    "an absolute entry": (M, entry("/etc/evil.py")),
    "an entry with a backslash": (M, entry("provider\\evil.py")),
    "an entry with a dot": (M, entry("./c.py")),
    "an entry with two slashes": (M, entry("a//d.py")),
    "an entry with a drive": (M, entry("C:/e.py")),
    "a folder as an entry": (M, entry("wheels/", "")),
    "an entry twice": (M, entry("main.py")),
    "an entry twice, once with a dot": (M, entry("./main.py")),
    "a file that is a folder": (M, entry("main.py/x")),
    "a name of 300 letters": (M, entry("n" * 300)),
    "a link": (M, entry("link.py", "main.py", external_attr=(stat.S_IFLNK | 0o777) << 16, create_system=3)),
    "another compression": (M, entry("f.py", "x" * 100, compress_type=zipfile.ZIP_BZIP2)),
    "a name that is no UTF-8": (M, lambda files: (entry("QQQ.py")(files), raw(lambda content: content.replace(b"QQQ.py", b"\xff\xfeQ.py"))(files))),
    "a comment that is no signature": (M, raw(lambda content: content[:-2] + struct.pack("<H", 5) + b"hello")),
    "a signature of nobody": (M, raw(lambda content: content[:-2] + struct.pack("<H", 31) + b'{"signature":"eA==","time":123}')),
    "no zip archive": (M, raw(lambda _: b"hello")),
    "nothing at all": (M, raw(lambda _: b"")),
    "an archive that is cut": (M, raw(lambda content: content[:-40])),
    "an archive without its first 30 bytes": (M, raw(lambda content: content[30:])),
    "an archive without 27 bytes of its middle": (M, raw(lambda content: content[:100] + content[127:])),
    "an archive with something before it": (M, raw(lambda content: b"#!/bin/sh\n" + content)),
    "a wrong checksum": (M, lambda files: (entry("g.py", "good", compress_type=zipfile.ZIP_STORED)(files), raw(lambda content: content.replace(b"good", b"evil"))(files))),
    "52,428,801 bytes": (M, put("zeros", bytes(52_428_801))),
}  # fmt: skip


def make(name):
    """Return the bytes of a damaged package."""
    base_name, damage = DAMAGES[name]
    files = base(base_name)
    damage(files)
    return pack(files)


def main(folder):
    folder.mkdir(parents=True, exist_ok=True)
    index = {}
    for number, name in enumerate(DAMAGES):
        path = folder / f"{number:03}.difypkg"
        path.write_bytes(make(name))
        index[str(path)] = name
    (folder / "index.json").write_text(json.dumps(index))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
