"""The methods of the control API by topic, with their parameters and results. `schema` lists them all."""
