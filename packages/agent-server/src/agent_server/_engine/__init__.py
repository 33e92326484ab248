"""What executes the runs of the store, and pushes their events to who watches."""
