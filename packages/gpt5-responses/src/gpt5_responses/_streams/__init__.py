"""One response as a stream of events, blocking and asynchronous, within its time limits."""
