"""What a real server would refuse about a request, and the errors that say so."""
