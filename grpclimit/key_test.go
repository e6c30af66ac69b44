package grpclimit_test

import (
	"context"
	"net"
	"net/netip"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/adaptive"
	"github.com/limitgate/limitgate/grpclimit"
	"github.com/limitgate/limitgate/internal/racing"
)

// incoming is the context of a call from an address with metadata.
func incoming(ctx context.Context, a net.Addr, kv ...string) context.Context {
	return metadata.NewIncomingContext(peer.NewContext(ctx, &peer.Peer{Addr: a}), metadata.Pairs(kv...))
}

func tcp(s string) net.Addr { return net.TCPAddrFromAddrPort(netip.MustParseAddrPort(s)) }

// text is an address that is not of a type of package net, as that of a server behind net/http.
type text string

func (a text) Network() string { return "tcp" }
func (a text) String() string  { return string(a) }

func TestClientNetwork(t *testing.T) {
	trusted := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("2001:db8::/32")}
	for name, c := range map[string]struct {
		client grpclimit.Client
		addr   net.Addr
		kv     []string
		want   string
	}{
		"peer":                {grpclimit.Client{}, tcp("192.0.2.7:1"), nil, "192.0.2.7/32"},
		"text":                {grpclimit.Client{}, text("192.0.2.7:1"), nil, "192.0.2.7/32"},
		"mapped":              {grpclimit.Client{}, tcp("[::ffff:192.0.2.7]:1"), nil, "192.0.2.7/32"},
		"64 of IPv6":          {grpclimit.Client{}, tcp("[2001:db8:1:2:3::9]:1"), nil, "2001:db8:1:2::/64"},
		"fewer bits":          {grpclimit.Client{IPv4: 24, IPv6: 48}, tcp("[2001:db8:1:2:3::9]:1"), nil, "2001:db8:1::/48"},
		"nobody is trusted":   {grpclimit.Client{}, tcp("10.0.0.1:1"), []string{"x-forwarded-for", "192.0.2.7"}, "10.0.0.1/32"},
		"stranger's claim":    {grpclimit.Client{Trusted: trusted}, tcp("192.0.2.1:1"), []string{"x-forwarded-for", "192.0.2.7"}, "192.0.2.1/32"},
		"proxy":               {grpclimit.Client{Trusted: trusted}, tcp("10.0.0.1:1"), []string{"x-forwarded-for", "192.0.2.7"}, "192.0.2.7/32"},
		"claim before it":     {grpclimit.Client{Trusted: trusted}, tcp("10.0.0.1:1"), []string{"x-forwarded-for", "1.2.3.4, 203.0.113.9"}, "203.0.113.9/32"},
		"chain":               {grpclimit.Client{Trusted: trusted}, tcp("10.0.0.1:1"), []string{"x-forwarded-for", "1.2.3.4, 203.0.113.9, 10.0.0.2"}, "203.0.113.9/32"},
		"chain of two values": {grpclimit.Client{Trusted: trusted}, tcp("10.0.0.1:1"), []string{"x-forwarded-for", "203.0.113.9", "x-forwarded-for", "10.0.0.2"}, "203.0.113.9/32"},
		"no address":          {grpclimit.Client{Trusted: trusted}, tcp("10.0.0.1:1"), []string{"x-forwarded-for", "unknown"}, "10.0.0.1/32"},
		"own metadata":        {grpclimit.Client{Trusted: trusted, Metadata: "X-Real-IP"}, tcp("10.0.0.1:1"), []string{"x-real-ip", "192.0.2.7"}, "192.0.2.7/32"},
		"unix":                {grpclimit.Client{}, &net.UnixAddr{Name: "@", Net: "unix"}, []string{"x-forwarded-for", "192.0.2.7"}, "unix:"},
		"text without a port": {grpclimit.Client{}, text("2001:db8:1:2:3::9"), nil, "2001:db8:1:2::/64"},
		"of IP alone":         {grpclimit.Client{}, &net.IPAddr{IP: net.ParseIP("192.0.2.7")}, nil, "192.0.2.7/32"},
		"no socket of unix":   {grpclimit.Client{TrustUnix: true}, text("@"), []string{"x-forwarded-for", "192.0.2.7"}, "tcp:"},
		"trusted unix":        {grpclimit.Client{TrustUnix: true}, &net.UnixAddr{Name: "@", Net: "unix"}, []string{"x-forwarded-for", "192.0.2.7"}, "192.0.2.7/32"},
	} {
		t.Run(name, func(t *testing.T) {
			got := c.client.Key()(incoming(t.Context(), c.addr, c.kv...), grpclimit.Call{}, []byte("before "))
			if want := "before " + c.want; string(got) != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
	if got := grpclimit.ClientNetwork()(t.Context(), grpclimit.Call{Client: true}, nil); string(got) != "nobody" {
		t.Errorf("without a peer: got %q, want that all count together", got)
	}
	if own, root := grpclimit.ClientNetwork()(incoming(t.Context(), tcp("[2001:db8:1:2:3::9]:1")), grpclimit.Call{}, nil),
		limitgate.AppendNetwork(nil, "2001:db8:1:2:3::9", 32, 64); string(own) != string(root) {
		t.Errorf("got %q, while the library says %q", own, root)
	}
}

// A thousand addresses in one /64 are one client. (field case 35)
func TestOneNetworkHasOneBudget(t *testing.T) {
	in := grpclimit.New(limiter(t, limitgate.Token{Rate: limitgate.PerHour(1), Capacity: 10}), grpclimit.ClientNetwork())
	passed, base := 0, netip.MustParseAddr("2001:db8:1:2::").As16()
	for i := range 1000 {
		base[14], base[15] = byte(i>>8), byte(i)
		ctx := incoming(t.Context(), net.TCPAddrFromAddrPort(netip.AddrPortFrom(netip.AddrFrom16(base), 1)))
		if call(ctx, in, "/s/M", nil) == nil {
			passed++
		}
	}
	if passed != 10 {
		t.Errorf("got %d, want 10", passed)
	}
}

func TestKeys(t *testing.T) {
	server := incoming(t.Context(), tcp("192.0.2.7:1"), "x-api-key", "secret", "x-api-key", "second")
	client := metadata.AppendToOutgoingContext(t.Context(), "x-api-key", "mine")
	c := grpclimit.Call{Method: "/s/M", Target: "dns:///host"}
	none := grpclimit.Key(func(context.Context, grpclimit.Call, []byte) []byte { return nil })
	for name, k := range map[string]struct {
		key  grpclimit.Key
		ctx  context.Context
		call grpclimit.Call
		want string
	}{
		"metadata":            {grpclimit.Metadata("X-API-Key"), server, c, "secret"},
		"metadata of clients": {grpclimit.Metadata("X-API-Key"), client, grpclimit.Call{Client: true}, "mine"},
		"missing metadata":    {grpclimit.Metadata("x-other"), server, c, ""},
		"or":                  {grpclimit.Metadata("x-other").Or(grpclimit.Method), server, c, "/s/M"},
		"not or":              {grpclimit.Metadata("x-api-key").Or(grpclimit.Method), server, c, "secret"},
		"method":              {grpclimit.Method, server, c, "/s/M"},
		"target":              {grpclimit.Target, server, c, "dns:///host"},
		"everybody":           {grpclimit.Everybody, server, c, "*"},
		"each":                {grpclimit.Each(grpclimit.Method, grpclimit.Metadata("x-other"), grpclimit.Metadata("x-api-key")), server, c, "\x00\x00\x00\x04/s/M\x00\x00\x00\x00\x00\x00\x00\x06secret"},
		"nil":                 {grpclimit.Each(grpclimit.Method, none), server, c, "\x00\x00\x00\x04/s/M\x00\x00\x00\x00"},
		"nil or":              {none.Or(grpclimit.Method), server, c, "/s/M"},
		"each of nothing":     {grpclimit.Each(grpclimit.Metadata("a"), grpclimit.Metadata("b")), server, c, ""},
	} {
		if got := k.key(k.ctx, k.call, []byte("<")); string(got) != "<"+k.want {
			t.Errorf("%s: got %q, want %q", name, got, "<"+k.want)
		}
	}
}

func TestConfigSaysWhatIsWrong(t *testing.T) {
	req, conn := limiter(t, once), limiter(t, limitgate.Conn{Limit: 1})
	good := grpclimit.Limit{Limiter: req, Key: grpclimit.Everybody}
	change := func(f func(l *grpclimit.Limit)) grpclimit.Config {
		l := good
		f(&l)
		return grpclimit.Config{Limits: []grpclimit.Limit{good, l}}
	}
	for want, c := range map[string]grpclimit.Config{
		"0 limits of calls":     {},
		"65 limits of calls":    {Limits: make([]grpclimit.Limit, 65)},
		"must not be negative":  {Limits: []grpclimit.Limit{good}, Wait: -1},
		"needs a Limiter":       change(func(l *grpclimit.Limit) { l.Limiter = nil }),
		"limit 1 \"x\" of":      change(func(l *grpclimit.Limit) { l.Name, l.Limiter = "x", nil }),
		"needs a Key":           change(func(l *grpclimit.Limit) { l.Key = nil }),
		"Cost and Counts are":   change(func(l *grpclimit.Limit) { l.Limiter, l.Counts = conn, grpclimit.Failed }),
		`method "s/M": must`:    change(func(l *grpclimit.Limit) { l.Methods = []string{"s/M"} }),
		`method "/s": must`:     change(func(l *grpclimit.Limit) { l.Methods = []string{"/s"} }),
		`method "/s/": must`:    change(func(l *grpclimit.Limit) { l.Methods = []string{"/s/M", "/s/"} }),
		`method "//M": must`:    change(func(l *grpclimit.Limit) { l.Methods = []string{"//M"} }),
		`method "/a/b/M": must`: change(func(l *grpclimit.Limit) { l.Methods = []string{"/a/b/M"} }),
	} {
		if _, err := grpclimit.NewWith(c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	if err := change(func(l *grpclimit.Limit) { l.Methods = []string{"/a.b.S/*", "/a.b.S/M"} }).Validate(); err != nil {
		t.Error(err)
	}
	defer func() {
		if recover() == nil {
			t.Error("New without a limiter did not panic")
		}
	}()
	grpclimit.New(nil, grpclimit.Everybody)
}

// TestPassingAllocatesNothing: a call that passes costs no memory; one that holds a place or is settled neither. Reading metadata costs
// what gRPC copies of it.
func TestPassingAllocatesNothing(t *testing.T) {
	token := limitgate.Token{Rate: limitgate.PerSecond(1_000_000), Capacity: 1 << 30}
	for name, c := range map[string]struct {
		limits []grpclimit.Limit
		want   float64
	}{
		"adaptive": {nil, 0},
		"peer":     {[]grpclimit.Limit{{Limiter: limiter(t, token), Key: grpclimit.ClientNetwork(netip.MustParsePrefix("10.0.0.0/8"))}}, 0},
		"composed": {[]grpclimit.Limit{{Limiter: limiter(t, token), Key: grpclimit.Each(grpclimit.Method, grpclimit.ClientNetwork()), Methods: []string{"/s/*"}}}, 0},
		"all": {[]grpclimit.Limit{
			{Limiter: limiter(t, token), Key: grpclimit.ClientNetwork()},
			{Limiter: limiter(t, token), Key: grpclimit.Method, Counts: grpclimit.CodeIn(codes.Unauthenticated)},
			{Limiter: limiter(t, limitgate.Conn{Limit: 5}), Key: grpclimit.Everybody},
		}, 0},
		"metadata": {[]grpclimit.Limit{{Limiter: limiter(t, token), Key: grpclimit.Metadata("x-api-key")}}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			in := with(t, grpclimit.Config{Limits: c.limits, Adaptive: finds(t, adaptive.Config{})})
			ctx, cancel := context.WithCancel(incoming(t.Context(), tcp("192.0.2.7:1"), "x-api-key", "secret"))
			defer cancel()
			info := &grpc.UnaryServerInfo{FullMethod: "/s/M"}
			handler := func(context.Context, any) (any, error) { return nil, nil }
			n := testing.AllocsPerRun(1000, func() {
				if _, err := in.UnaryServer(ctx, nil, info, handler); err != nil {
					t.Fatal(status.Convert(err))
				}
			})
			if n > c.want && !racing.Detector {
				t.Errorf("got %v allocations, want %v", n, c.want)
			}
		})
	}
}

func BenchmarkUnaryServer(b *testing.B) {
	in := grpclimit.New(limiter(b, limitgate.Token{Rate: limitgate.PerSecond(1_000_000), Capacity: 1 << 30}), grpclimit.ClientNetwork())
	ctx := incoming(b.Context(), tcp("192.0.2.7:1"))
	info := &grpc.UnaryServerInfo{FullMethod: "/s/M"}
	handler := func(context.Context, any) (any, error) { return nil, nil }
	b.ReportAllocs()
	for b.Loop() {
		if _, err := in.UnaryServer(ctx, nil, info, handler); err != nil {
			b.Fatal(err)
		}
	}
}
