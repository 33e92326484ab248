"""What the sessions of the noxfile stand on."""
