"""What serving earns and takes: the donor's ledger of signed receipts, and meters of time, energy and traffic.

`Clerk` runs the `Ledger` in a thread of its own; `ServingAccount` measures the engine and adds to `ServingHours`, which
the clerk writes into the ledger. The package knows receipts and hours, but neither the network that brings receipts
nor what a limit leads to, which `policy.hours_and_caps` decides. A receipt counts once however often it arrives, and a
crash at any instruction loses at most what was counted since the last write. Nothing is measured while no engine runs
and nobody looks. Older versions can read the file of every newer one with the same `tables.VERSION`.
"""
