"""An application for Macs with Apple's processor. Experimental: made and looked at on Linux, run on no Mac so far."""
