"""Results and figures in the formats of other tools.

- `xplot`, `xgraph`, `gnuplot`: any figure, as the data and the marks that it holds.
- `tables`: CSV and Parquet of any table.
- `pcap`: a selection of packets.
- `perfetto`: the timeline as trace events.
- `emulation`: what the link did, for replay: a Mahimahi trace, an error trace for the lab.

Every file is written under a temporary name and renamed when it is complete. Names of files are made of
series and table names only, never of words from a trace.
"""
