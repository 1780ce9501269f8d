"""report.html: what a run did, or how several compare, in one file that needs no network.

record reads a run's folder, view decides what is shown, render writes the page out of page/.
"""
