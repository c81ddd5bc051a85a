// One run of the study: bulk TCP transfers from one host to another through a drop-tail queue in bytes.
//
//   sender --- 10 Mbit/s, 5 ms --- router --- 1 Mbit/s, 20 ms --- router --- 10 Mbit/s, 5 ms --- receiver
//
// Writes into --out: snd.pcap and rcv.pcap (nanoseconds), flows.flowmonitor, cwnd.data of the first flow
// (time, old, new; bytes), and with --ascii snd.tr, the ascii trace of the device that snd.pcap is of.

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/flow-monitor-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

using namespace ns3;

// ns-3 has had no Tahoe since 3.25: the window falls to one segment when loss recovery begins and grows by
// slow start and congestion avoidance from there. What is sent again is decided by ns-3 (NewReno's partial ACKs).
class TahoeRecovery : public TcpClassicRecovery
{
  public:
    static TypeId GetTypeId()
    {
        static TypeId tid =
            TypeId("TahoeRecovery").SetParent<TcpClassicRecovery>().AddConstructor<TahoeRecovery>();
        return tid;
    }

    void EnterRecovery(Ptr<TcpSocketState> tcb, uint32_t, uint32_t, uint32_t) override
    {
        tcb->m_cWnd = tcb->m_segmentSize;
        tcb->m_cWndInfl = tcb->m_segmentSize;
    }

    void DoRecovery(Ptr<TcpSocketState> tcb, uint32_t deliveredBytes) override
    {
        if (deliveredBytes == 0)
        {
            return;
        }
        uint32_t cwnd = tcb->m_cWnd;
        uint32_t segment = tcb->m_segmentSize;
        tcb->m_cWnd = cwnd + (cwnd < tcb->m_ssThresh ? segment : std::max(1u, segment * segment / cwnd));
        tcb->m_cWndInfl = tcb->m_cWnd;
    }

    void ExitRecovery(Ptr<TcpSocketState> tcb) override
    {
        tcb->m_cWndInfl = tcb->m_cWnd;
    }

    Ptr<TcpRecoveryOps> Fork() override
    {
        return CopyObject<TahoeRecovery>(this);
    }
};

NS_OBJECT_ENSURE_REGISTERED(TahoeRecovery);

static void
WriteWindow(Ptr<OutputStreamWrapper> file, uint32_t before, uint32_t after)
{
    *file->GetStream() << Simulator::Now().GetSeconds() << "\t" << before << "\t" << after << "\n";
}

static void
TraceWindow(Ptr<OutputStreamWrapper> file)
{
    Config::ConnectWithoutContextFailSafe("/NodeList/0/$ns3::TcpL4Protocol/SocketList/0/CongestionWindow",
                                          MakeBoundCallback(&WriteWindow, file));
}

int
main(int argc, char** argv)
{
    std::string flavour = "reno";
    std::string out = ".";
    uint32_t window = 8000;
    uint32_t queue = 8000;
    uint32_t segment = 512;
    uint32_t flows = 1;
    uint32_t run = 1;
    double seconds = 10;
    bool ascii = false;
    CommandLine command;
    command.AddValue("flavour", "reno or tahoe", flavour);
    command.AddValue("window", "most bytes sent and not acknowledged", window);
    command.AddValue("queue", "bottleneck queue, bytes", queue);
    command.AddValue("segment", "TCP segment size, bytes", segment);
    command.AddValue("flows", "number of transfers", flows);
    command.AddValue("run", "number of the random stream: when flows start", run);
    command.AddValue("seconds", "length of the simulation", seconds);
    command.AddValue("ascii", "write an ascii trace too", ascii);
    command.AddValue("out", "directory", out);
    command.Parse(argc, argv);
    NS_ABORT_MSG_UNLESS(flavour == "reno" || flavour == "tahoe", "flavour: reno or tahoe");

    Config::SetDefault("ns3::PcapFileWrapper::NanosecMode", BooleanValue(true));
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(TcpLinuxReno::GetTypeId()));
    TypeId recovery = flavour == "tahoe" ? TahoeRecovery::GetTypeId() : TcpClassicRecovery::GetTypeId();
    Config::SetDefault("ns3::TcpL4Protocol::RecoveryType", TypeIdValue(recovery));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(segment));
    // The window is that of the send buffer: ns-3.37 crashes in fast recovery when the receiver's window is full
    // (TcpTxBuffer::CopyFromSequence of no bytes). What may be sent and not acknowledged is the same.
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(window));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(65535));
    Config::SetDefault("ns3::TcpSocketBase::WindowScaling", BooleanValue(false));
    Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(false));
    Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(false));
    Config::SetDefault("ns3::TcpSocketBase::LimitedTransmit", BooleanValue(false));
    RngSeedManager::SetSeed(1);
    RngSeedManager::SetRun(run);

    NodeContainer nodes;
    nodes.Create(4);
    PointToPointHelper access;
    access.SetDeviceAttribute("DataRate", StringValue("10Mbps"));
    access.SetChannelAttribute("Delay", StringValue("5ms"));
    access.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue("10000p"));
    PointToPointHelper bottleneck;
    bottleneck.SetDeviceAttribute("DataRate", StringValue("1Mbps"));
    bottleneck.SetChannelAttribute("Delay", StringValue("20ms"));
    bottleneck.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue(std::to_string(queue) + "B"));
    NetDeviceContainer left = access.Install(nodes.Get(0), nodes.Get(1));
    NetDeviceContainer middle = bottleneck.Install(nodes.Get(1), nodes.Get(2));
    NetDeviceContainer right = access.Install(nodes.Get(2), nodes.Get(3));
    InternetStackHelper stack;
    stack.Install(nodes);
    Ipv4AddressHelper address;
    Ipv4InterfaceContainer interfaces;
    TrafficControlHelper control;
    for (const auto& devices : {left, middle, right})
    {
        address.SetBase(Ipv4Address(0x0a010000 + (interfaces.GetN() << 7)), "255.255.255.0");
        interfaces.Add(address.Assign(devices));
        control.Uninstall(devices); // only the queue of the device, as before ns-3.25
    }
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();

    Ptr<UniformRandomVariable> start = CreateObject<UniformRandomVariable>();
    start->SetStream(50);
    start->SetAttribute("Max", DoubleValue(0.1));
    for (uint32_t flow = 0; flow < flows; flow++)
    {
        uint16_t port = 9000 + flow;
        BulkSendHelper source("ns3::TcpSocketFactory", InetSocketAddress(interfaces.GetAddress(5), port));
        source.SetAttribute("SendSize", UintegerValue(segment));
        source.Install(nodes.Get(0)).Start(Seconds(start->GetValue()));
        PacketSinkHelper sink("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), port));
        sink.Install(nodes.Get(3));
    }

    access.EnablePcap(out + "/snd.pcap", left.Get(0), false, true);
    access.EnablePcap(out + "/rcv.pcap", right.Get(1), false, true);
    AsciiTraceHelper files;
    if (ascii)
    {
        access.EnableAscii(files.CreateFileStream(out + "/snd.tr"), left.Get(0));
    }
    Ptr<OutputStreamWrapper> cwnd = files.CreateFileStream(out + "/cwnd.data");
    Simulator::Schedule(Seconds(0.1001), &TraceWindow, cwnd);
    FlowMonitorHelper helper;
    Ptr<FlowMonitor> monitor = helper.InstallAll();
    Simulator::Stop(Seconds(seconds));
    Simulator::Run();
    monitor->SerializeToXmlFile(out + "/flows.flowmonitor", false, false);
    Simulator::Destroy();
    return 0;
}
