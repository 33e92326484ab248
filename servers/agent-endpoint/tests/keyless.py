"""A module whose model's client lacks what the environment should have."""

import os


class SettingsError(ValueError):
    """As a client of a model raises it."""

    field = "SUPPORT_MODEL_URL"


match os.environ["KEYLESS"]:
    case "unset":
        os.environ["SUPPORT_MODEL_KEY"]  # raises
    case "wrong":
        raise SettingsError("SUPPORT_MODEL_URL must be an address")
    case _:
        raise RuntimeError("a mistake of the module's own")
