"""Parts of `make fuzz`: what is damaged, how, which commands read it, and which outcomes are wrong."""
