"""Figures of receipts, the ledger and what credit is worth."""
