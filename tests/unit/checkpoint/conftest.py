from helpers.family_fixtures import family_folder

__all__ = ["family_folder"]
