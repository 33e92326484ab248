"""Steps: the calls of a run that somebody else records, as what is asked for, as what stands in the records and as what a run is told meanwhile."""
