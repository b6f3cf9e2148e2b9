"""Sessions: joins the pure turn to a provider, tools, inspectors and the store."""
