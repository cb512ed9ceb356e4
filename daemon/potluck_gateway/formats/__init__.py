"""The formats in which programs ask and are answered."""
