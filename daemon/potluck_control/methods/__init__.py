"""The topics of the control API: parameters and results of its methods, a module for each topic.

A topic declares structs and `Method` constants and has no behaviour. A client imports only the topics that it uses. The
daemon takes every `Method` constant of every module here (see `potluck_control.api.all_methods`), so a new one needs no
further list. Names of methods and fields are the API: they are never renamed, and new fields are optional.
"""
