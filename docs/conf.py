"""How the documentation site is built; CONTRIBUTING.md says by which command.

It documents the devroot that is installed, not the one in the working tree.
"""

from __future__ import annotations

import sys
from pathlib import Path

from sphinxcontrib.spelling.builder import (  # type: ignore[import-untyped]
    SpellingBuilder,
)

import devroot

sys.path.append(str(Path(__file__).parent / "_ext"))

project = "devroot"
author = "The devroot authors"
project_copyright = author
version = release = devroot.__version__
language = "en_GB"

extensions = [
    "myst_parser",
    "site_api",
    "site_links",
    "sphinx.ext.graphviz",
    "sphinx.ext.intersphinx",
    "sphinxcontrib.spelling",
]
exclude_patterns = ["_ext", "examples"]
nitpicky = True
default_role = "py:obj"  # what a docstring has in single backticks is a name of the API

# The anchors of headings are those that code hosts give them.
myst_heading_anchors = 4

autodoc_default_options = {"members": True, "member-order": "bysource"}
autodoc_typehints_format = "short"
toc_object_entries_show_parents = "hide"

# It shows on every page where that stands in the site, and loads nothing from other hosts.
html_theme = "furo"
html_title = f"devroot {release}"
html_theme_options = {"light_css_variables": {"code-font-size": "75%"}}  # 98 columns fit
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False

# White behind the diagrams, so that they are legible in the dark as well.
graphviz_output_format = "svg"
graphviz_dot_args = ["-Gbgcolor=white", *(f"-{each}fontname=Helvetica" for each in "GNE")]

spelling_lang = "en_GB"
spelling_word_list_filename = ["spelling-words.txt"]
spelling_show_suggestions = True
# What is right must not depend on what is installed, or on who has committed.
spelling_ignore_contributor_names = False
spelling_ignore_importable_modules = False
# The bold words are held to it too. What stands in italics is mostly the name of a parameter.
SpellingBuilder.TEXT_NODES.add("strong")
