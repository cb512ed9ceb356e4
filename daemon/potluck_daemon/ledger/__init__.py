"""Who owes whom: receipts that were signed, the entries that follow from them, and what credit is worth."""
