// Two transfers through one queue, traced in every way that ns-3 has.
//
//   h0 --.                                       .-- h0 sends to h4
//         r2 --- 400 kbit/s, 20 ms --- r3 --- h4
//   h1 --'                                       '-- h4 sends to h1
//
// Writes into the working directory: h0.pcap, h1.pcap, h4.pcap, all.tr, flows.flowmonitor, and of the sockets that
// send, in the habits of ns-3's examples: cwnd.data (time, old, new, tabs: sixth.cc), server-cwnd.data, ssth.data,
// rtt.data, rto.data, inflight.data, next-tx.data (time and value: tcp-variants-comparison.cc).

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/flow-monitor-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

using namespace ns3;

static AsciiTraceHelper files;

template <typename T>
static std::string
Text(T value)
{
    std::ostringstream text;
    text << value;
    return text.str();
}

template <>
std::string
Text(Time value)
{
    return Text(value.GetSeconds());
}

static void
WithOld(Ptr<OutputStreamWrapper> file, uint32_t before, uint32_t after)
{
    *file->GetStream() << Simulator::Now().GetSeconds() << "\t" << before << "\t" << after << "\n";
}

template <typename T>
static void
Changed(Ptr<OutputStreamWrapper> file, bool* begun, T before, T after)
{
    if (!*begun)
    {
        *file->GetStream() << "0.0 " << Text(before) << "\n";
        *begun = true;
    }
    *file->GetStream() << Simulator::Now().GetSeconds() << " " << Text(after) << "\n";
}

template <typename T>
static void
Trace(std::string socket, std::string source, std::string name)
{
    Config::ConnectWithoutContext(socket + source,
                                  MakeBoundCallback(&Changed<T>, files.CreateFileStream(name), new bool(false)));
}

static void
TraceAll()
{
    std::string socket = "/NodeList/0/$ns3::TcpL4Protocol/SocketList/0/";
    Config::ConnectWithoutContext(socket + "CongestionWindow",
                                  MakeBoundCallback(&WithOld, files.CreateFileStream("cwnd.data")));
    Trace<uint32_t>(socket, "SlowStartThreshold", "ssth.data");
    Trace<Time>(socket, "RTT", "rtt.data");
    Trace<Time>(socket, "RTO", "rto.data");
    Trace<uint32_t>(socket, "BytesInFlight", "inflight.data");
    Trace<SequenceNumber32>(socket, "NextTxSequence", "next-tx.data");
}

static void
TraceServer()
{
    Trace<uint32_t>("/NodeList/4/$ns3::TcpL4Protocol/SocketList/2/", "CongestionWindow", "server-cwnd.data");
}

int
main()
{
    Config::SetDefault("ns3::PcapFileWrapper::NanosecMode", BooleanValue(true));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(536));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(20000));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(65535));
    RngSeedManager::SetSeed(1);
    NodeContainer nodes;
    nodes.Create(5);
    PointToPointHelper access;
    access.SetDeviceAttribute("DataRate", StringValue("10Mbps"));
    access.SetChannelAttribute("Delay", StringValue("2ms"));
    access.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue("1000p"));
    PointToPointHelper bottleneck;
    bottleneck.SetDeviceAttribute("DataRate", StringValue("400kbps"));
    bottleneck.SetChannelAttribute("Delay", StringValue("20ms"));
    bottleneck.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue("12p"));
    NetDeviceContainer links[] = {access.Install(nodes.Get(0), nodes.Get(2)),
                                  access.Install(nodes.Get(1), nodes.Get(2)),
                                  bottleneck.Install(nodes.Get(2), nodes.Get(3)),
                                  access.Install(nodes.Get(3), nodes.Get(4))};
    // Eight packets in a row, all copies included, are lost on their way: a timeout.
    Ptr<ReceiveListErrorModel> errors = CreateObject<ReceiveListErrorModel>();
    errors->SetList({130, 131, 132, 133, 134, 135, 136, 137});
    links[3].Get(1)->SetAttribute("ReceiveErrorModel", PointerValue(errors));
    InternetStackHelper stack;
    stack.Install(nodes);
    Ipv4AddressHelper address("10.1.0.0", "255.255.255.0");
    TrafficControlHelper control;
    std::vector<Ipv4InterfaceContainer> interfaces;
    for (const auto& devices : links)
    {
        interfaces.push_back(address.Assign(devices));
        address.NewNetwork();
        control.Uninstall(devices);
    }
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();
    auto transfer = [&](int from, int to, Ipv4Address where, double start) {
        BulkSendHelper source("ns3::TcpSocketFactory", InetSocketAddress(where, 9000));
        source.Install(nodes.Get(from)).Start(Seconds(start));
        PacketSinkHelper sink("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), 9000));
        sink.Install(nodes.Get(to)).Start(Seconds(0));
    };
    transfer(0, 4, interfaces[3].GetAddress(1), 8);
    transfer(4, 1, interfaces[1].GetAddress(0), 8.5);
    access.EnablePcap("h0.pcap", links[0].Get(0), false, true);
    access.EnablePcap("h1.pcap", links[1].Get(0), false, true);
    access.EnablePcap("h4.pcap", links[3].Get(1), false, true);
    access.EnableAsciiAll(files.CreateFileStream("all.tr"));
    Simulator::Schedule(Seconds(8.001), &TraceAll);
    Simulator::Schedule(Seconds(8.501), &TraceServer);
    FlowMonitorHelper helper;
    Ptr<FlowMonitor> monitor = helper.InstallAll();
    Simulator::Stop(Seconds(12));
    Simulator::Run();
    monitor->SerializeToXmlFile("flows.flowmonitor", true, true);
    Simulator::Destroy();
    return 0;
}
