"""The rulebooks that come with the package, one TOML file each; data only."""
