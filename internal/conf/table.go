package conf

import "slices"

// Table returns all that is known about directives, in the order of the reference. It is built afresh for each caller.
func Table() []Spec {
	var all []Spec
	for _, g := range Groups() {
		all = append(all, g.Specs...)
	}
	return all
}

// Group is a chapter of the reference.
type Group struct {
	Title string
	Intro string
	Specs []Spec
}

// Groups returns the table by chapters.
func Groups() []Group {
	return []Group{
		{"Process and events", "", mainSpecs()},
		{"Servers and locations", "", serverSpecs()},
		{"Requests and connections", "", requestSpecs()},
		{"Rewriting and ways inside", "", rewriteSpecs()},
		{"Answers", "", answerSpecs()},
		{"Conditions, ranges and compression", "", filterSpecs()},
		{"Limits", "Every limit says whom it counts (the key), the long-run rate or number, and what is let through beyond it.", slices.Concat(limitSpecs(), quotaSpecs(), storeSpecs(), rolloutSpecs(), decisionSpecs())},
		{"Client address", "", realipSpecs()},
		{"Access", "", accessSpecs()},
		{"TLS", "TLS towards clients, on addresses that listen with ssl.", sslSpecs()},
		{"HTTP/2", "", http2Specs()},
		{"Proxying", "", append(proxySpecs(), proxyRuleSpecs()...)},
		{"TLS to upstreams", "For proxy_pass https://… and grpc_pass grpcs://…; see docs/tls.md.", append(upstreamTLSSpecs("proxy_ssl_"), upstreamTLSSpecs("grpc_ssl_")...)},
		{"gRPC", "Calls are passed on over HTTP/2, as they come; limits act on them as on any request, each call for itself.", grpcSpecs()},
		{"Buffers", "", bufferSpecs()},
		{"Upstreams", "", upstreamSpecs()},
		{"Variables", "", variableSpecs()},
		{"Logs", "", logSpecs()},
		{"Traces", "OpenTelemetry, under the names of nginx's own module (ngx_otel_module), with an event for each limit that decides; see docs/observability.md.", otelSpecs()},
		{"Accepted without effect", "Read and checked, so that a configuration written for nginx loads. They tune how nginx does its work and cannot " +
			"change what a request gets here; the first use of each is noted when the configuration is loaded, except for the sizes of hash tables.", acceptedSpecs()},
		{"Not supported", "Known to nginx 1.22 to 1.30. Using one is an error, because leaving it out would change what requests get.", missingSpecs()},
	}
}

// Contexts that many directives share.
const (
	httpToLocation = HTTP | Server | Location
	httpToServer   = HTTP | Server
	httpToIf       = HTTP | Server | Location | IfLocation
	rewriteIn      = Server | IfServer | Location | IfLocation
	everywhere     = Main | Events | HTTP | Server | Location | IfServer | IfLocation | LimitExcept | Upstream | bodies
)
