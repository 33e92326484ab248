"""One response as a stream of events, blocking and asynchronous, within its time limits.

Its body is read by one text, of which the blocking twin is generated. The streams themselves are written twice: a blocking one is lazy, and may
be closed by another thread, so it has locks; an asynchronous one is entered, and ends by cancellation.
"""
