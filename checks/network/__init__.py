"""Ranks find each other over TCP before the first gradient moves: by a port, by a name, by an interface."""
