"""The pages of the window, one package each, and what all of them share.

A page shows what the daemon says and sends it commands; it decides nothing about serving. It is a column of sections,
which ask by way of their page. The page shows what fails, what takes long and what was done, so no section has to.
The catalogue names the pages; their modules are imported when somebody opens them. Pages lead to each other by
destinations, without knowing each other, but for sections that two pages show.
"""
