"""Link and TCP together: when the link was idle and why, and what a link reset took from TCP."""
