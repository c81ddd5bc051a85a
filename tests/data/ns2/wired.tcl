# Two transfers through one queue of eight packets, node 1 to node 2; writes wired.tr and wired-totals.json.
#
#   0 --- 10 Mbit/s, 2 ms --- 1 --- 800 kbit/s, 20 ms --- 2
#
# ns-2.35 of Debian 12: ns wired.tcl

set ns [new Simulator]
$ns trace-all [set events [open wired.tr w]]
foreach node {0 1 2} { set n($node) [$ns node] }
$ns duplex-link $n(0) $n(1) 10Mb 2ms DropTail
$ns duplex-link $n(1) $n(2) 800kb 20ms DropTail
$ns queue-limit $n(1) $n(2) 8
foreach flavour {Newreno Sack1} begin {0.1 0.7} {
    set tcp($flavour) [new Agent/TCP/$flavour]
    $tcp($flavour) set packetSize_ 1000
    $tcp($flavour) set window_ 30
    set sink [new Agent/TCPSink[expr {$flavour eq "Sack1" ? "/Sack1" : ""}]]
    $ns attach-agent $n(0) $tcp($flavour)
    $ns attach-agent $n(2) $sink
    $ns connect $tcp($flavour) $sink
    set ftp [new Application/FTP]
    $ftp attach-agent $tcp($flavour)
    $ns at $begin "$ftp start"
}
proc finish {} {
    global ns events tcp
    $ns flush-trace
    close $events
    set totals [open wired-totals.json w]
    set parts {}
    foreach flavour {Newreno Sack1} {
        set numbers {}
        foreach name {ndatapack_ ndatabytes_ nrexmitpack_ nrexmitbytes_ ack_ maxseq_} {
            lappend numbers "\"$name\": [$tcp($flavour) set $name]"
        }
        lappend parts "\"$flavour\": {[join $numbers {, }]}"
    }
    puts $totals "{[join $parts {, }]}"
    close $totals
    exit 0
}
$ns at 3.0 finish
$ns run
