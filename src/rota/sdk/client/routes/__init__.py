"""Every route of the API as a function that builds its call. Their signatures are the clients'."""
