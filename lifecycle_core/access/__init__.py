"""Who may do what: tenants, members, roles, tokens, agents' versions and credentials."""
