"""Runs a program that nobody trusts: `run` starts it, `child.py` confines itself before it reads a line of it."""
