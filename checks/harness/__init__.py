"""What agent harnesses do when everything around them misbehaves, at equal model behaviour."""
