from gpt5_payloads import PayloadError


def test_the_root_error_is_a_value_error_that_names_its_field():
    error = PayloadError("verbosity is odd", field="verbosity")

    assert isinstance(error, ValueError)
    assert (str(error), error.field) == ("verbosity is odd", "verbosity")
