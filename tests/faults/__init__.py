"""What must survive: power cuts, failing disks, killed processes, tampering."""
