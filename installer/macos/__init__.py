"""Builds an application for Macs with Apple's processor. Experimental: no Mac has run it so far."""
