"""Receipts and credits"""
