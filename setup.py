"""Map the rooms at the top of the repository into one import package, `turncoat`.

`platform/` becomes `turncoat.platform`, and so on. No room holds an `__init__.py` at its own level: a package
`platform/` would shadow the standard library's module for anyone who starts Python in the repository root.
The list of subpackages is computed, so that a new folder cannot be forgotten in the wheel.
"""

from setuptools import find_namespace_packages, setup

ROOMS = ("platform", "actors", "jobs", "tuning")
DATA = ["*.yaml", "*.json", "*.jsonl", "*.safetensors", "*.html", "*.css", "*.log", "*.md"]

packages = [f"turncoat.{room}" for room in ROOMS]
for room in ROOMS:
    packages += [f"turncoat.{room}.{name}" for name in find_namespace_packages(room)]

setup(
    packages=packages,
    package_dir={f"turncoat.{room}": room for room in ROOMS},
    package_data={"": DATA},
)
