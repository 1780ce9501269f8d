"""The site: Markdown (MyST) by Sphinx, in furo's dress. Formulas are text, so that a page needs nothing from the network."""

project = "ada"
author = "the authors of ada"
extensions = ["myst_parser"]
myst_heading_anchors = 3
html_theme = "furo"
html_title = "ada"
html_static_path = []
exclude_patterns = ["_build"]
html_show_copyright = False
