import shutil
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest
import yaml

import generate_models
from gpt5_prices import PRICES


ROOT = Path(__file__).parent.parent


@pytest.fixture
def copy(tmp_path):
    for name in ("catalog.yaml", "parameter_rules.yaml"):
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


@pytest.fixture
def written(copy):
    """The copy with what is checked in, which is what a run writes."""
    shutil.copytree(ROOT / "models", copy / "models")
    return copy


def read(path):
    return yaml.load(path.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)


def contents(folder):
    return {path.name: path.read_bytes() for path in (folder / "models" / "llm").glob("*.yaml")}


def test_the_checked_in_files_match_the_catalog(capsys):
    assert generate_models.main(["--check"]) == 0
    assert capsys.readouterr().out == ""


def test_it_writes_what_is_checked_in(copy):
    assert generate_models.main(["--root", str(copy)]) == 0
    assert contents(copy) == contents(ROOT)


def test_a_second_run_changes_nothing(written, capsys):
    assert generate_models.main(["--root", str(written)]) == 0
    assert capsys.readouterr().out == ""


def test_check_names_what_does_not_match_and_writes_nothing(written, capsys):
    folder = written / "models" / "llm"
    stray, missing = folder / "gpt-0.yaml", folder / "gpt-5.yaml"
    stray.write_text("model: gpt-0\n", encoding="utf-8")
    missing.unlink()

    assert generate_models.main(["--check", "--root", str(written)]) == 1
    assert capsys.readouterr().out.splitlines() == [
        "models/llm/gpt-5.yaml: does not match the catalog",
        "models/llm/gpt-0.yaml: does not match the catalog",
    ]
    assert stray.exists()
    assert not missing.exists()


def test_a_run_removes_what_the_catalog_no_longer_has(written):
    (written / "models/llm/gpt-0.yaml").write_text("model: gpt-0\n", encoding="utf-8")

    assert generate_models.main(["--root", str(written)]) == 0
    assert contents(written) == contents(ROOT)


@pytest.mark.parametrize(
    ("release_date", "marked"), [("2027-01-30", False), ("2027-01-31", True), ("2027-04-02", True)]
)
def test_a_model_is_marked_as_deprecated_sixty_days_before_it_ends(copy, release_date, marked):
    path = copy / "catalog.yaml"
    dated = yaml.dump({**read(path), "release_date": release_date}, Dumper=yaml.CSafeDumper)
    path.write_text(dated, encoding="utf-8")
    generate_models.main(["--root", str(copy)])

    model = read(copy / "models/llm/gpt-5.1.yaml")
    assert model.get("deprecated", False) is marked
    assert "ends 2027-04-01" in model["label"]["en_US"]


def test_a_price_that_changes_reaches_the_model_s_file(copy, monkeypatch):
    price = PRICES["gpt-6-luna"]
    dearer = replace(price, rates=price.rates.times(Decimal(3)))
    monkeypatch.setitem(PRICES, "gpt-6-luna", dearer)
    generate_models.main(["--root", str(copy)])

    model = read(copy / "models/llm/gpt-6-luna.yaml")
    assert model["pricing"]["input"] == "0.30"
