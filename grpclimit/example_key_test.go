package grpclimit_test

import (
	"context"
	"fmt"
	"net"
	"net/netip"

	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"

	"github.com/limitgate/limitgate/grpclimit"
)

// from is the context of a call that came from an address, with metadata.
func from(addr string, kv ...string) context.Context {
	a := net.TCPAddrFromAddrPort(netip.MustParseAddrPort(addr))
	return metadata.NewIncomingContext(peer.NewContext(context.Background(), &peer.Peer{Addr: a}), metadata.Pairs(kv...))
}

var find = grpclimit.Call{Method: "/shop.Search/Find"}

func ExampleClientNetwork() {
	key := grpclimit.ClientNetwork(netip.MustParsePrefix("10.0.0.0/8"))
	fmt.Printf("%s\n", key(from("192.0.2.7:4711", "x-forwarded-for", "203.0.113.9"), find, nil))
	fmt.Printf("%s\n", key(from("10.0.0.1:4711", "x-forwarded-for", "203.0.113.9"), find, nil))
	// Output:
	// 192.0.2.7/32
	// 203.0.113.9/32
}

func ExampleClient_Key() {
	key := grpclimit.Client{IPv6: 48}.Key()
	fmt.Printf("%s\n", key(from("[2001:db8:1:2::7]:4711"), find, nil))
	// Output: 2001:db8:1::/48
}

func ExampleMetadata() {
	key := grpclimit.Metadata("x-api-key")
	fmt.Printf("%s\n", key(from("192.0.2.7:4711", "x-api-key", "k-17"), find, nil))
	// Output: k-17
}

func ExampleKey_Or() {
	key := grpclimit.Metadata("x-api-key").Or(grpclimit.ClientNetwork())
	fmt.Printf("%s\n", key(from("192.0.2.7:4711"), find, nil))
	// Output: 192.0.2.7/32
}

func ExampleEach() {
	key := grpclimit.Each(grpclimit.Method, grpclimit.ClientNetwork())
	fmt.Printf("%q\n", key(from("192.0.2.7:4711"), find, nil))
	// Output: "\x00\x00\x00\x11/shop.Search/Find\x00\x00\x00\f192.0.2.7/32"
}

func ExampleMethod() {
	fmt.Printf("%s\n", grpclimit.Method(context.Background(), find, nil))
	// Output: /shop.Search/Find
}

func ExampleTarget() {
	fmt.Printf("%s\n", grpclimit.Target(context.Background(), grpclimit.Call{Target: "dns:///search:443", Client: true}, nil))
	// Output: dns:///search:443
}

func ExampleEverybody() {
	fmt.Printf("%s\n", grpclimit.Everybody(context.Background(), find, nil))
	// Output: *
}
