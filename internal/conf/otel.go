package conf

import (
	"strconv"
	"strings"
	"time"
)

// Exporter is an otel_exporter block, with what is said of all spans beside it.
type Exporter struct {
	At        Pos
	Endpoint  string // HOST:PORT
	TLS       bool
	Trusted   Word        // a file; "" for the authorities of the system
	Headers   [][2]string // names in lower case; values are secrets
	Interval  time.Duration
	BatchSize int
	Batches   int
	Resource  [][2]string // service.name first
}

// ReadExporter reads what an http block says of where spans go. It reports false where they go nowhere, or something is wrong.
func ReadExporter(http *Scope, errs *Errors) (e Exporter, ok bool) {
	list := http.Own("otel_exporter")
	if len(list) == 0 {
		return e, false
	}
	d := list[0]
	e = Exporter{At: d.Pos, Interval: 5 * time.Second, BatchSize: 512, Batches: 4, Resource: [][2]string{{"service.name", "unknown_service:limitgate"}}}
	ok = true
	for _, line := range d.Block.Directives {
		good := true
		switch line.Name {
		case "endpoint":
			e.Endpoint, e.TLS, good = readOtelEndpoint(line, errs)
		case "trusted_certificate":
			e.Trusted = line.Args[0]
		case "header":
			name, value, fine := readOtelHeader(line, errs)
			e.Headers, good = append(e.Headers, [2]string{name, value}), fine
		case "interval":
			e.Interval, good = line.Duration(errs, 0)
			e.Interval = max(e.Interval, time.Millisecond)
		case "batch_size", "batch_count":
			var n int64
			n, good = line.Int(errs, 0)
			if line.Name == "batch_size" {
				e.BatchSize = int(n)
			} else {
				e.Batches = int(n)
			}
		}
		ok = ok && good
	}
	for _, a := range http.Own("otel_resource_attr") {
		if a.Arg(0) == "service.name" {
			e.Resource[0][1] = a.Arg(1)
		} else {
			e.Resource = append(e.Resource, [2]string{a.Arg(0), a.Arg(1)})
		}
	}
	if name, found := http.Get("otel_service_name"); found {
		e.Resource[0][1] = name.Arg(0)
	}
	return e, ok && e.Endpoint != ""
}

// exporterClosed checks a block when its end was read.
func (c *checker) exporterClosed(d *Directive) {
	if len(d.Block.Own("endpoint")) == 0 {
		c.errs.Add(d.Close, `"otel_exporter" requires "endpoint"`, "the address of a collector that speaks OTLP over gRPC: endpoint localhost:4317;")
	}
}

func checkOtelEndpoint(c *checker, d *Directive) { readOtelEndpoint(d, c.errs) }

// readOtelEndpoint reads an address. What is wrong with it is told without it: some put who logs in there.
func readOtelEndpoint(d *Directive, errs *Errors) (address string, secure, ok bool) {
	address = d.Arg(0)
	for _, scheme := range []string{"https://", "http://"} {
		if len(address) >= len(scheme) && strings.EqualFold(address[:len(scheme)], scheme) {
			address, secure = address[len(scheme):], scheme == "https://"
			break
		}
	}
	e, fault := ParseEndpoint(address, 0)
	if fault == "" && (e.NoPort || e.Unix != "" || strings.ContainsAny(address, "$@/?# ")) {
		fault = "no host and port"
	}
	if fault != "" {
		errs.Add(d.At(0), `invalid address of "endpoint": `+fault, "write HOST:PORT, http://HOST:PORT or https://HOST:PORT: endpoint localhost:4317;")
		return "", false, false
	}
	return address, secure, true
}

func checkOtelHeader(c *checker, d *Directive) { readOtelHeader(d, c.errs) }

// readOtelHeader reads a header. Its value is repeated nowhere.
func readOtelHeader(d *Directive, errs *Errors) (name, value string, ok bool) {
	name, value = strings.ToLower(d.Arg(0)), d.Arg(1)
	legal := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || strings.ContainsRune("-_.", r)
	}
	switch {
	case name == "" || strings.ContainsFunc(name, func(r rune) bool { return !legal(r) }) || strings.HasPrefix(name, "grpc-"):
		errs.Add(d.At(0), `"header" directive of "otel_exporter" has invalid header name `+strconv.Quote(d.Arg(0)), "letters, digits, - _ and . are allowed; grpc-… is the protocol's own")
	case strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r > '~' }):
		errs.Add(d.At(1), `"header" directive of "otel_exporter" has invalid header value`, "it is of printable ASCII")
	default:
		return name, value, true
	}
	return "", "", false
}
