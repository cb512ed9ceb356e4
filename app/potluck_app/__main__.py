"""`python -m potluck_app`."""

from potluck_app.start import main

raise SystemExit(main())
