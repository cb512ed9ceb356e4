"""`python -m potluck_app`."""

from potluck_app.main import main

raise SystemExit(main())
