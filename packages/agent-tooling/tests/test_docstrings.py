import pytest

from agent_tooling import Tool


def described(docstring):
    """Return what a tool says of itself and of its parameters, of a function with this docstring."""

    def search(query: str, limit: int, tags: list[str]):
        """Replaced below."""

    search.__doc__ = docstring
    made = Tool.from_function(search)
    told = {
        name: schema["description"]
        for name, schema in made.parameters["properties"].items()
        if "description" in schema
    }
    return made.description, told


GOOGLE = """Search the library.

    It knows all books.

    Args:
        query (str, optional): What to look for,
            in words.

            More of it: a second paragraph.
        limit: How many
        unknown: Nobody knows.
            Nor this.
        *tags: Which tags.

    Returns:
        list: The books.

    Raises:
        LookupError: If there are none.

    Note:
        Slow at night.
    """

NUMPY = """Search the library.

    It knows all books.

    Parameters
    ----------
    query : str
        What to look for,
        in words.

        More of it: a second paragraph.
    limit, unknown : int
        How many
    *tags
        Which tags.

    Returns
    -------
    list
        The books.

    Note
    ----
    Slow at night.
    """

REST = """Search the library.

    It knows all books.

    :param query: What to look for,
        in words.

        More of it: a second paragraph.
    :type query: str
    :param int limit: How many
    :param unknown: Nobody knows.
    :arg \\*tags:
        Which tags.
    :returns: The books.
    :raises LookupError: If there are
        none.

    Note
    """


@pytest.mark.parametrize("docstring", [GOOGLE, NUMPY, REST], ids=["google", "numpy", "rest"])
def test_each_style_says_the_same(docstring):
    description, parameters = described(docstring)

    assert description.startswith("Search the library.\n\nIt knows all books.\n\nNote")
    assert "The books" not in description
    assert "none" not in description
    assert parameters == {
        "query": "What to look for, in words. More of it: a second paragraph.",
        "limit": "How many",
        "tags": "Which tags.",
    }


@pytest.mark.parametrize("docstring", [None, "", "   ", "\n\n"])
def test_no_docstring_is_no_description(docstring):
    assert described(docstring) == ("", {})


@pytest.mark.parametrize(
    "docstring",
    [
        "Search: the library",
        "Search.\n\nExample:\n    search('x')",
        "Search.\n\nquery: not in a section",
        "Search.\n\nA table\n-------\nx : y",
        "Search.\n\n:emphasis: a role, :ref:`x`",
        "Search.\n\n:param: without a name",
    ],
)
def test_what_is_in_no_known_section_is_description(docstring):
    assert described(docstring) == (docstring, {})


def test_a_section_of_parameters_may_be_empty_or_hold_anything():
    assert described("Search.\n\nArgs:\n\nArgs:\n    in words\n        deeper\n    query: what")[
        1
    ] == {"query": "what"}
    assert described("Search.\n\nParameters\n----------")[1] == {}
    assert described("Search.\n\nArgs:\n    query:\n        on the next line\n    on the same")[
        1
    ] == {"query": "on the next line on the same"}
