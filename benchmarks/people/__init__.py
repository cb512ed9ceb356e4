"""The app and the commands, as people meet them"""
