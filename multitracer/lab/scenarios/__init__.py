"""The scenarios that come with the lab, one TOML file each."""
