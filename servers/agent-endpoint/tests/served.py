"""A module of agents, as somebody would serve it."""

from scripted import adding as _adding
from scripted import paying


support = paying
agents = {"one": paying, "two": _adding}
nothing = 3
