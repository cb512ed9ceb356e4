"""The same numbers as the local model"""
