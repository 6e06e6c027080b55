"""The clients that are measured, one file each: `run(work)` holds every conversation of `conversation.Work`.

Each file imports its library at the top, so that the memory of the imports can be told apart.
"""
