"""The donor's ledger: signed receipts, the entries that follow from them, and what credit is worth."""
