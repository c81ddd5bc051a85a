// Two phones of one cell that download by TCP over LTE, and what LENA counts of their bearers, every 0.1 s.
//
// Writes into the working directory: DlRlcStats.txt, UlRlcStats.txt, DlPdcpStats.txt, UlPdcpStats.txt.

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/lte-module.h"
#include "ns3/mobility-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"

using namespace ns3;

int
main()
{
    RngSeedManager::SetSeed(1);
    Config::SetDefault("ns3::RadioBearerStatsCalculator::EpochDuration", TimeValue(MilliSeconds(100)));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(60000));
    Ptr<LteHelper> lte = CreateObject<LteHelper>();
    Ptr<PointToPointEpcHelper> core = CreateObject<PointToPointEpcHelper>();
    lte->SetEpcHelper(core);
    Ptr<Node> gateway = core->GetPgwNode();
    NodeContainer server;
    server.Create(1);
    NodeContainer base;
    base.Create(1);
    NodeContainer phones;
    phones.Create(2);
    InternetStackHelper stack;
    stack.Install(server);
    stack.Install(phones);
    PointToPointHelper wire;
    wire.SetDeviceAttribute("DataRate", StringValue("100Mbps"));
    wire.SetChannelAttribute("Delay", StringValue("10ms"));
    NetDeviceContainer ends = wire.Install(gateway, server.Get(0));
    Ipv4AddressHelper address("1.0.0.0", "255.0.0.0");
    address.Assign(ends);
    Ipv4StaticRoutingHelper routing;
    routing.GetStaticRouting(server.Get(0)->GetObject<Ipv4>())
        ->AddNetworkRouteTo(Ipv4Address("7.0.0.0"), Ipv4Mask("255.0.0.0"), 1);
    Ptr<ListPositionAllocator> places = CreateObject<ListPositionAllocator>();
    places->Add(Vector(0, 0, 0));
    places->Add(Vector(100, 0, 0));
    places->Add(Vector(1500, 0, 0));
    MobilityHelper mobility;
    mobility.SetPositionAllocator(places);
    mobility.Install(base);
    mobility.Install(phones);
    NetDeviceContainer cells = lte->InstallEnbDevice(base);
    NetDeviceContainer radios = lte->InstallUeDevice(phones);
    Ipv4InterfaceContainer interfaces = core->AssignUeIpv4Address(radios);
    for (uint32_t phone = 0; phone < phones.GetN(); phone++)
    {
        routing.GetStaticRouting(phones.Get(phone)->GetObject<Ipv4>())
            ->SetDefaultRoute(core->GetUeDefaultGatewayAddress(), 1);
        lte->Attach(radios.Get(phone), cells.Get(0));
        BulkSendHelper source("ns3::TcpSocketFactory", InetSocketAddress(interfaces.GetAddress(phone), 9000));
        source.Install(server.Get(0)).Start(Seconds(0.1));
        PacketSinkHelper sink("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), 9000));
        sink.Install(phones.Get(phone));
    }
    lte->EnableRlcTraces();
    lte->EnablePdcpTraces();
    Simulator::Stop(Seconds(1));
    Simulator::Run();
    Simulator::Destroy();
    return 0;
}
