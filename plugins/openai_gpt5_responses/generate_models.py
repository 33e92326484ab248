"""Write models/llm/*.yaml from catalog.yaml, parameter_rules.yaml and the prices of gpt5-prices.

    python generate_models.py            write files that differ, remove those of models that left the catalog
    python generate_models.py --check    write nothing; exit code 1 when a file does not match the catalog

A second run changes nothing. `--root FOLDER` works on another copy of the plugin's folder.
"""

import argparse
import sys
from collections.abc import Iterator, Mapping
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import yaml

from gpt5_payloads import ModelProfile, profile_for
from gpt5_prices import PRICES
from parameter_choices import find_options, is_offered


type _Texts = Mapping[str, Any]

FEATURES = (
    "tool-call",
    "multi-tool-call",
    "agent-thought",
    "stream-tool-call",
    "structured-output",
    "vision",
    "document",
)
# The C versions take a fifth of the time.
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_DUMPER = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
# How long before its end a model is marked as deprecated, after which Dify offers it to nobody any more.
_MARKED_FOR = timedelta(days=60)
HEADER = "# Generated from catalog.yaml by generate_models.py. Change the catalog, not this file.\n"


def model_declaration(model: _Texts, rules: list[dict[str, Any]], texts: _Texts) -> dict[str, Any]:
    """Return the declaration of a model in Dify's form.

    Source: `ModelDeclaration` of langgenius/dify-plugin-daemon at bdb5642a and `AIModelEntity` of dify-plugin 0.10.2.
    """
    price, profile = PRICES[model["name"]], profile_for(model["name"])
    ending = _ending(model, profile, texts["endings"])
    return {
        "model": model["name"],
        "label": ending["label"] or {"en_US": model["label"]},
        "model_type": "llm",
        **({"deprecated": True} if _is_ending(profile, texts["release_date"]) else {}),
        "features": [name for name in FEATURES if name != "stream-tool-call" or profile.streaming],
        "model_properties": {"mode": "chat", "context_size": profile.context_size},
        "parameter_rules": [
            _rule(rule, profile, texts["notes"], ending["help"])
            for rule in rules
            if is_offered(rule["name"], profile)
        ],
        "pricing": {
            "input": str(price.rates.input),
            "output": str(price.rates.output),
            "unit": "0.000001",
            "currency": price.currency,
        },
    }


def _is_ending(profile: ModelProfile, release_date: str) -> bool:
    """Return whether a model has ended, or ends soon after the release."""
    day, released = profile.shutdown_date, date.fromisoformat(release_date)
    return day is not None and date.fromisoformat(day) - released <= _MARKED_FOR


def _ending(model: _Texts, profile: ModelProfile, endings: _Texts) -> Mapping[str, _Texts]:
    """Return what a model says that ends or has ended, in its label and at the beginning of its form, by language."""
    if profile.shutdown_date is None:
        return {"label": {}, "help": {}}
    facts = {**model, "replaced_by": profile.replacement, "shutdown_date": profile.shutdown_date}
    return {
        place: {language: text.format_map(facts) for language, text in said.items()}
        for place, said in endings["retired" if profile.retired else "ending"].items()
    }


def _rule(
    rule: dict[str, Any], profile: ModelProfile, notes: _Texts, ending: _Texts
) -> dict[str, Any]:
    if options := find_options(rule["name"], profile):
        return rule | {"options": list(options)}
    match rule["name"]:
        case "max_output_tokens":
            # The help of the first field begins with the text about the model itself.
            help_texts = _joined(ending, rule["help"])
            return rule | {"max": profile.max_output_tokens, "help": help_texts}
        case "verbosity" if len(profile.verbosities) <= 1:
            taken = "".join(profile.verbosities)
            note = notes["verbosity_fixed" if taken else "no_verbosity"]
            note_texts = {key: text.format(verbosity=taken) for key, text in note.items()}
            return rule | {"help": _joined(rule["help"], note_texts)}
        case "enable_stream" if not profile.streaming:
            return rule | {"help": _joined(rule["help"], notes["no_streaming"])}
        case _:
            return rule


def _joined(first: _Texts, then: _Texts) -> dict[str, str]:
    """Return two texts joined, by language."""
    return {key: first.get(key, "") + then.get(key, "") for key in (*first, *then)}


def declarations(root: Path) -> dict[str, str]:
    """Return the content of each generated file in models/llm, by file name."""
    catalog = _load(root / "catalog.yaml")
    models = catalog["models"]
    # What the README and the manual say is no part of a form.
    loaded = _load(root / "parameter_rules.yaml")
    rules = [{key: rule[key] for key in rule if key != "pages"} for rule in loaded]
    files = {
        f"{model['name']}.yaml": _dump(model_declaration(model, rules, catalog)) for model in models
    }
    return files | {"_position.yaml": _dump([model["name"] for model in models])}


def _load(path: Path) -> Any:
    return yaml.load(path.read_text(encoding="utf-8"), Loader=_LOADER)  # noqa: S506  the safe loader in C


def _dump(value: Any) -> str:
    return HEADER + yaml.dump(value, Dumper=_DUMPER, sort_keys=False, allow_unicode=True, width=120)


def differences(root: Path) -> Iterator[tuple[Path, str | None]]:
    """Yield each file that does not match the catalog, with the content it should have; None if it should not exist."""
    folder, wanted = root / "models" / "llm", declarations(root)
    for name, content in wanted.items():
        path = folder / name
        if not path.is_file() or path.read_text(encoding="utf-8") != content:
            yield path, content
    for path in sorted(folder.glob("*.yaml")):
        if path.name not in wanted:
            yield path, None


def _write(path: Path, content: str | None) -> str:
    """Write or remove a file; return which of the two happened."""
    if content is None:
        path.unlink()
        return "removed"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content, encoding="utf-8", newline="\n")
    return "written"


def main(arguments: list[str] | None = None) -> int:
    """Run the command; return its exit code."""
    parser = argparse.ArgumentParser(description="Write models/llm/*.yaml from catalog.yaml.")
    parser.add_argument(
        "--check",
        action="store_true",
        help="write nothing; exit 1 if a file does not match the catalog",
    )
    parser.add_argument("--root", type=Path, default=Path(__file__).parent, help="plugin folder")
    options = parser.parse_args(arguments)
    found = list(differences(options.root))
    for path, content in found:
        state = "does not match the catalog" if options.check else _write(path, content)
        sys.stdout.write(f"{path.relative_to(options.root)}: {state}\n")
    return 1 if options.check and found else 0


if __name__ == "__main__":
    sys.exit(main())
