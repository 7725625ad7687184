"""One self-contained HTML page about a run, or about a study of several arms and seeds."""

from turncoat.platform.report.run import render_run
from turncoat.platform.report.study import render_study

__all__ = ["render_run", "render_study"]
