# One run of the study in ns-2, whose Agent/TCP is Tahoe with go-back-N, and Agent/TCP/Reno Reno as of 1990: one
# retransmission for each loss recovery. The path is that of dumbbell.cc.
#
#   ns dumbbell.tcl FOLDER FLAVOUR WINDOW QUEUE SEGMENT SECONDS START...
#
#   FLAVOUR  tahoe or reno
#   WINDOW   bytes: as many whole segments are sent and not acknowledged
#   QUEUE    bytes of the drop-tail queues at the bottleneck
#   START    when a flow begins, in seconds; one for each flow
#
# Writes FOLDER/events.tr. Timers and acknowledgments as in ns-3: RTO of 1 s at least, every second segment acknowledged.

if {$argc < 7} { puts stderr "see the head of this file for the arguments"; exit 2 }
set starts [lassign $argv folder flavour window queue segment seconds]

Queue/DropTail set queue_in_bytes_ true
Queue/DropTail set mean_pktsize_ 1
Agent/TCP set packetSize_ $segment
Agent/TCP set window_ [expr {$window / $segment}]
Agent/TCP set windowInit_ 1
Agent/TCP set minrto_ 1.0
Agent/TCP set singledup_ 0
Agent/TCPSink/DelAck set interval_ 200ms

set ns [new Simulator]
set events [open $folder/events.tr w]
for {set i 0} {$i < 4} {incr i} { set node($i) [$ns node] }
$ns duplex-link $node(0) $node(1) 10Mb 5ms DropTail
$ns duplex-link $node(1) $node(2) 1Mb 20ms DropTail
$ns duplex-link $node(2) $node(3) 10Mb 5ms DropTail
foreach {a b} {0 1 2 3} {
    $ns queue-limit $node($a) $node($b) 100000000
    $ns queue-limit $node($b) $node($a) 100000000
}
$ns queue-limit $node(1) $node(2) $queue
$ns queue-limit $node(2) $node(1) $queue
# What enters and leaves at both ends: as two captures. The links between are not written.
$ns trace-queue $node(0) $node(1) $events
$ns trace-queue $node(1) $node(0) $events
$ns trace-queue $node(2) $node(3) $events
$ns trace-queue $node(3) $node(2) $events

switch $flavour {
    tahoe   { set kind Agent/TCP }
    reno    { set kind Agent/TCP/Reno }
    default { puts stderr "flavour $flavour?"; exit 2 }
}
foreach start $starts {
    set tcp [new $kind]
    set sink [new Agent/TCPSink/DelAck]
    $ns attach-agent $node(0) $tcp
    $ns attach-agent $node(3) $sink
    $ns connect $tcp $sink
    set ftp [new Application/FTP]
    $ftp attach-agent $tcp
    $ns at $start "$ftp start"
    lappend agents $tcp
}

proc finish {} {
    global ns events folder agents
    $ns flush-trace
    close $events
    set totals [open $folder/totals.json w]
    set acks {}
    foreach tcp $agents { lappend acks [$tcp set ack_] }
    puts $totals "\{\"ack_\": \[[join $acks {, }]\]\}"
    close $totals
    exit 0
}
$ns at $seconds finish
$ns run
