"""Strangers, members and leaders who mean harm

Attackers are real peers in processes of their own; what they cost is what their victims' processes take.
"""
