"""The values that go into a run and come out of it, and the errors of this package."""
