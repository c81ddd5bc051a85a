// A transfer from one station to another through their access point, with frames that get lost on the air.
//
// Writes into the working directory: wifi.tr, wifi.flowmonitor.

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/flow-monitor-module.h"
#include "ns3/internet-module.h"
#include "ns3/mobility-module.h"
#include "ns3/network-module.h"
#include "ns3/wifi-module.h"

using namespace ns3;

int
main()
{
    RngSeedManager::SetSeed(1);
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(20000));
    NodeContainer nodes;
    nodes.Create(3);
    YansWifiPhyHelper phy;
    phy.SetChannel(YansWifiChannelHelper::Default().Create());
    WifiHelper wifi;
    wifi.SetStandard(WIFI_STANDARD_80211g);
    wifi.SetRemoteStationManager("ns3::ConstantRateWifiManager", "DataMode", StringValue("ErpOfdmRate24Mbps"));
    WifiMacHelper mac;
    Ssid name("x");
    mac.SetType("ns3::ApWifiMac", "Ssid", SsidValue(name));
    NetDeviceContainer devices = wifi.Install(phy, mac, nodes.Get(0));
    mac.SetType("ns3::StaWifiMac", "Ssid", SsidValue(name));
    devices.Add(wifi.Install(phy, mac, nodes.Get(1)));
    devices.Add(wifi.Install(phy, mac, nodes.Get(2)));
    Ptr<ListPositionAllocator> places = CreateObject<ListPositionAllocator>();
    places->Add(Vector(0, 0, 0));
    places->Add(Vector(33, 0, 0));
    places->Add(Vector(-5, 0, 0));
    MobilityHelper mobility;
    mobility.SetPositionAllocator(places);
    mobility.Install(nodes);
    InternetStackHelper stack;
    stack.Install(nodes);
    Ipv4AddressHelper address("10.1.0.0", "255.255.255.0");
    Ipv4InterfaceContainer interfaces = address.Assign(devices);
    BulkSendHelper source("ns3::TcpSocketFactory", InetSocketAddress(interfaces.GetAddress(2), 9000));
    source.SetAttribute("MaxBytes", UintegerValue(60000));
    source.Install(nodes.Get(1)).Start(Seconds(1));
    PacketSinkHelper sink("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), 9000));
    sink.Install(nodes.Get(2));
    AsciiTraceHelper files;
    phy.EnableAsciiAll(files.CreateFileStream("wifi.tr"));
    FlowMonitorHelper helper;
    Ptr<FlowMonitor> monitor = helper.InstallAll();
    Simulator::Stop(Seconds(3));
    Simulator::Run();
    monitor->SerializeToXmlFile("wifi.flowmonitor", false, false);
    Simulator::Destroy();
    return 0;
}
