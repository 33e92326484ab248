"""The documentation has the schema that the package ships."""

from pathlib import Path


ROOT = Path(__file__).parents[2]


def test_the_schema_in_the_documentation_is_the_packages() -> None:
    name = "run-log-1.schema.json"
    shipped = ROOT / "packages/run-log/src/run_log" / name
    assert (ROOT / "docs" / name).read_bytes() == shipped.read_bytes()
