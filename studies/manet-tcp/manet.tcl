# Four wireless nodes in a row, DSR, IEEE 802.11, one FTP transfer from node 0 to node 3.
#
#   ns manet.tcl FOLDER FLAVOUR LOSS MTU RTS SECONDS SEED FORMAT [APART [RATE [OF]]]
#
#   FLAVOUR  reno, newreno or sack
#   LOSS     share of frames that a radio receives damaged (0.01), or "burst": 85 % for 1 s every 12 s
#   MTU      bytes of an IP packet: a segment carries 40 less
#   RTS      on or off
#   FORMAT   old or new: how the events are written
#   APART    metres from node to node, 200 if not given: three hops, as a radio reaches 250; 60: one hop
#   RATE     Mbit/s of data frames, ns-2's own if not given (1 in ns-2.35, 2 before); control frames have 1
#   OF       what is lost: frames (if not given), which the MAC sends again; or segments, between the sending agent and
#            its router, which only TCP sends again
#
# Writes FOLDER/events.tr (agent, router, MAC), FOLDER/variables.tr (the sender's variables as they change) and
# FOLDER/totals.json (the sender's own counters at the end). Needs ns-2.35 (Debian: ns2).

if {$argc < 8 || $argc > 11} { puts stderr "see the head of this file for the arguments"; exit 2 }
lassign $argv folder flavour loss mtu rts seconds seed format apart rate of
if {$apart eq ""} { set apart 200 }
if {$of eq ""} { set of frames }
if {$of ni {frames segments}} { puts stderr "$of are lost?"; exit 2 }
if {$rate ne ""} { Mac/802_11 set dataRate_ ${rate}Mb }

set start 1.0
set end [expr {$start + $seconds}]
ns-random $seed

Mac/802_11 set RTSThreshold_ [expr {$rts eq "on" ? 0 : 3000}]
Agent/TCP set packetSize_ [expr {$mtu - 40}]

set ns [new Simulator]
if {$format eq "new"} { $ns use-newtrace }
set events [open $folder/events.tr w]
$ns trace-all $events

set area [new Topography]
$area load_flatgrid 700 200
create-god 4

# Every radio gets an error model of its own: the share of damaged frames is a property of the place.
set models {}
proc damaged {} {
    global models loss of
    set model [new ErrorModel]
    $model unit pkt
    $model set rate_ [expr {$loss eq "burst" || $of eq "segments" ? 0 : $loss}]
    $model ranvar [new RandomVariable/Uniform]
    lappend models $model
    return $model
}
proc rate {value} {
    global models
    foreach model $models { $model set rate_ $value }
}

# Energy as ns-2 has it by default: the same power to send and to receive, none to idle.
$ns node-config -adhocRouting DSR -llType LL -macType Mac/802_11 -ifqType CMUPriQueue -ifqLen 50 \
    -antType Antenna/OmniAntenna -propType Propagation/TwoRayGround -phyType Phy/WirelessPhy \
    -channel [new Channel/WirelessChannel] -topoInstance $area \
    -agentTrace ON -routerTrace ON -macTrace ON -movementTrace OFF \
    -energyModel EnergyModel -initialEnergy 1000 \
    -IncomingErrProc damaged

for {set i 0} {$i < 4} {incr i} {
    set node($i) [$ns node]
    $node($i) random-motion 0
    $node($i) set X_ [expr {50 + $apart * $i}]
    $node($i) set Y_ 100
    $node($i) set Z_ 0
}

switch $flavour {
    reno    { set tcp [new Agent/TCP/Reno];    set sink [new Agent/TCPSink] }
    newreno { set tcp [new Agent/TCP/Newreno]; set sink [new Agent/TCPSink] }
    sack    { set tcp [new Agent/TCP/Sack1];   set sink [new Agent/TCPSink/Sack1] }
    default { puts stderr "flavour $flavour?"; exit 2 }
}
$ns attach-agent $node(0) $tcp
$ns attach-agent $node(3) $sink
$ns connect $tcp $sink
if {$of eq "segments"} {
    # Behind the agent's own trace: what is lost here was sent, and never reaches a radio.
    set model [new ErrorModel]
    $model unit pkt
    $model set rate_ $loss
    $model ranvar [new RandomVariable/Uniform]
    set traced [$tcp target]
    $model target [$traced target]
    $model drop-target [new Agent/Null]
    $traced target $model
}
set ftp [new Application/FTP]
$ftp attach-agent $tcp

set variables [open $folder/variables.tr w]
$tcp attach $variables
foreach name {cwnd_ ssthresh_ maxseq_ ack_ srtt_ rttvar_ backoff_ dupacks_} { $tcp trace $name }

if {$loss eq "burst"} {
    for {set t [expr {$start + 11}]} {$t < $end} {set t [expr {$t + 12}]} {
        $ns at $t "rate 0.85"
        $ns at [expr {$t + 1}] "rate 0"
    }
}

proc finish {} {
    global ns tcp events variables folder
    $ns flush-trace
    close $events
    close $variables
    set totals [open $folder/totals.json w]
    set counts {}
    foreach name {ndatapack_ ndatabytes_ nrexmitpack_ nrexmitbytes_ nrexmit_ nackpack_ ack_ maxseq_} {
        lappend counts "\"$name\": [$tcp set $name]"
    }
    puts $totals "\{[join $counts {, }]\}"
    close $totals
    exit 0
}
$ns at $start "$ftp start"
$ns at $end finish
$ns run
