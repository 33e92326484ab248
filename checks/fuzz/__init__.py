"""Properties that hold for any input, tried for as long as there is time."""
