"""nbgrader's settings: for releases, and copied into every course folder."""

c = get_config()  # noqa: F821  (nbgrader's loader defines it)
c.ClearSolutions.code_stub = {"python": "# YOUR CODE HERE\npass"}
c.ClearSolutions.text_stub = "Write your answer here."
c.OverwriteCells.add_missing_cells = True
