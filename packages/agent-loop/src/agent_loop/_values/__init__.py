"""What goes into a run and what comes out of it: values, and the errors of this package."""
