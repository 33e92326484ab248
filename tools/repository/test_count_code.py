import pytest
from count_code import count_lines


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        ("", 0),
        ('"""A module."""\n\nimport os\n', 1),
        ("# why\nx = 1  # how\n\n", 1),
        (
            'class A:\n    """A class,\n    on two lines."""\n\n    x: int\n    """An attribute."""\n',
            2,
        ),
        ('x = """\ntext\n"""\n', 3),
        ("f(\n    1,\n    2,\n)\n", 4),
        ("# Generated from elsewhere.\nx = 1\n", 0),
    ],
)
def test_only_lines_that_somebody_wrote_as_code_count(source: str, lines: int) -> None:
    assert count_lines(source) == lines
