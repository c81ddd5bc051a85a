"""What relates the layers of one transfer: TCP, the link, which frames carried which segment, all events."""
