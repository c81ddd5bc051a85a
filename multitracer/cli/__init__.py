"""The command line. click and rich stay in here; each command is one small file, loaded when it is used."""
