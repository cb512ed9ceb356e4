"""Methods of the control API by topic: parameters, results, and the `Method`s themselves. `schema` lists them all."""
