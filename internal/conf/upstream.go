package conf

import (
	"slices"
	"strings"
	"time"
)

// UpstreamServer is a server directive of an upstream block.
type UpstreamServer struct {
	Endpoint
	Weight      int64
	MaxConns    int64 // 0 means no limit
	MaxFails    int64 // 0 means failures don't count
	FailTimeout time.Duration
	SlowStart   time.Duration // over which the weight comes back behind an outage; 0: at once
	Backup      bool
	Resolve     bool // its name is looked up again while requests are served
	Down        bool
	At          Pos
}

// ProxyPass is a proxy_pass or grpc_pass directive.
type ProxyPass struct {
	Text   string   // as written
	Vars   bool     // it holds variables; the other fields are empty then
	TLS    bool     // https
	Target Endpoint // an address, or in Host the name of an upstream block
	Named  string   // HOST or HOST:PORT as written: what is looked for among the upstream blocks
	URI    string   // the part that replaces the location's prefix; empty if there is none
	At     Pos
}

// ReadUpstreamServer reads a server directive of an upstream block. Host names are left as they are.
func ReadUpstreamServer(d *Directive, errs *Errors) (UpstreamServer, bool) {
	s := UpstreamServer{Weight: 1, MaxFails: 1, FailTimeout: 10 * time.Second, At: d.Pos}
	for _, a := range d.Args[1:] {
		if !s.parameter(a.Text) {
			badParameter(d, a, errs)
			return s, false
		}
	}
	e, fault := ParseEndpoint(d.Arg(0), 80)
	if fault != "" {
		errs.Add(d.At(0), fault+` in upstream "`+d.Arg(0)+`"`, "write HOST, HOST:PORT, [IPV6]:PORT or unix:PATH")
		return s, false
	}
	s.Endpoint = e
	return s, true
}

func (s *UpstreamServer) parameter(text string) (ok bool) {
	name, value, hasValue := strings.Cut(text, "=")
	switch {
	case text == "backup":
		s.Backup = true
		return true
	case text == "resolve":
		s.Resolve = true
		return true
	case text == "down":
		s.Down = true
		return true
	case !hasValue:
		return false
	case name == "weight":
		s.Weight, ok = ParseInt(value)
		return ok && s.Weight > 0
	case name == "max_conns":
		s.MaxConns, ok = ParseInt(value)
	case name == "max_fails":
		s.MaxFails, ok = ParseInt(value)
	case name == "slow_start":
		s.SlowStart, ok = ParseSeconds(value)
	case name == "fail_timeout":
		s.FailTimeout, ok = ParseSeconds(value)
	}
	return ok
}

// ReadProxyPass reads a proxy_pass directive.
func ReadProxyPass(d *Directive, errs *Errors) (ProxyPass, bool) {
	p := ProxyPass{Text: d.Arg(0), At: d.Pos}
	if hasVariable(p.Text) {
		p.Vars = true
		return p, true
	}
	rest, port := p.Text, 80
	switch {
	case len(rest) >= 7 && strings.EqualFold(rest[:7], "http://"):
		rest = rest[7:]
	case len(rest) >= 8 && strings.EqualFold(rest[:8], "https://"):
		rest, port, p.TLS = rest[8:], 443, true
	default:
		errs.Add(d.At(0), "invalid URL prefix", "write http://HOST or https://HOST")
		return p, false
	}
	e, uri, fault := parseEndpoint(rest, endpointRules{port: port, uri: true})
	if fault != "" {
		errs.Add(d.At(0), fault+` in upstream "`+rest+`"`, "write http://HOST, http://HOST:PORT or http://unix:PATH")
		return p, false
	}
	p.Target, p.URI, p.Named = e, uri, strings.TrimSuffix(rest, uri)
	if e.Unix != "" {
		p.Named = "unix:" + e.Unix
	}
	return p, true
}

// ReadGRPCPass reads a grpc_pass directive: the scheme may be left out, no path follows, and there is no default port.
func ReadGRPCPass(d *Directive, errs *Errors) (ProxyPass, bool) {
	p := ProxyPass{Text: d.Arg(0), At: d.Pos}
	if hasVariable(p.Text) {
		p.Vars = true
		return p, true
	}
	rest := p.Text
	switch {
	case len(rest) >= 7 && strings.EqualFold(rest[:7], "grpc://"):
		rest = rest[7:]
	case len(rest) >= 8 && strings.EqualFold(rest[:8], "grpcs://"):
		rest, p.TLS = rest[8:], true
	}
	e, fault := ParseEndpoint(rest, 0)
	if fault != "" {
		errs.Add(d.At(0), fault+` in upstream "`+rest+`"`, "write grpc://HOST:PORT, grpc://unix:PATH or the name of an upstream block")
		return p, false
	}
	p.Target, p.Named = e, rest
	return p, true
}

// checkProxyPass reads a proxy_pass and checks its URI part against where it stands.
func (c *checker) checkProxyPass(d *Directive) {
	p, ok := ReadProxyPass(d, c.errs)
	place := d.Scope.Place
	plain := d.Scope.Kind == Location && (place == nil || !place.IsRegexp() && place.Modifier != NamedTarget)
	if !ok || p.URI == "" || plain {
		return
	}
	c.errs.Add(d.At(0), `"proxy_pass" cannot have URI part in location given by regular expression, or inside named `+
		`location, or inside "if" statement, or inside "limit_except" block`, `leave out "`+p.URI+`"`)
}

// checkUpstream compares the name of an upstream block with those before it.
func (c *checker) checkUpstream(d *Directive) {
	for _, other := range d.Scope.Own("upstream") {
		if other != d && strings.EqualFold(other.Arg(0), d.Arg(0)) {
			c.errs.Add(d.Pos, `duplicate upstream "`+d.Arg(0)+`"`, "the first is at "+other.Pos.String())
			return
		}
	}
}

// checkUpstreamServer reads a server and checks that the balancing method before it, if any, knows backups.
func checkUpstreamServer(c *checker, d *Directive) {
	s, ok := ReadUpstreamServer(d, c.errs)
	if methods := d.Scope.Own("least_conn", "ip_hash", "hash", "random"); ok && s.Backup && len(methods) > 0 && methods[len(methods)-1].Name != "least_conn" {
		c.errs.Add(d.Pos, `balancing method does not support parameter "backup"`, "it finds the next server by itself; leave out backup")
	}
}

// checkBalance notes a balancing method that takes the place of another, or of a keepalive.
func checkBalance(c *checker, d *Directive) {
	if d.Scope.Own("least_conn", "ip_hash", "hash", "random", "keepalive")[0] != d {
		c.errs.Note(d.Pos, "load balancing method redefined", "the last method counts, and keepalive stands behind it")
	}
}

func checkHash(c *checker, d *Directive) {
	checkBalance(c, d)
	if len(d.Args) == 2 && d.Arg(1) != "consistent" {
		badParameter(d, d.Args[1], c.errs)
	}
}

func checkRandom(c *checker, d *Directive) {
	checkBalance(c, d)
	for i, word := range [...]string{"two", "least_conn"} {
		if i < len(d.Args) && d.Arg(i) != word {
			badParameter(d, d.Args[i], c.errs)
			return
		}
	}
}

// checkUpstreamZone checks zone of an upstream block; several blocks may name one zone, and one of them says its size.
func (c *checker) checkUpstreamZone(d *Directive) {
	name := d.Arg(0)
	if name == "" {
		c.errs.Add(d.At(0), `invalid zone name ""`, d.usage())
		return
	}
	bytes := int64(0)
	if len(d.Args) == 2 {
		var ok bool
		if bytes, ok = ParseSize(d.Arg(1)); !ok {
			c.errs.Add(d.At(1), `invalid zone size "`+d.Arg(1)+`"`, "write a size, for example 64k")
			return
		}
		if bytes < minZone {
			c.errs.Add(d.At(1), `zone "`+name+`" is too small`, "a zone has at least 32k")
			return
		}
	}
	z := c.named(d, name, forUpstream)
	if z == nil || bytes == 0 || c.sizeConflict(d, z, bytes) {
		return
	}
	z.bytes, z.declared = bytes, d
}

// checkKeepaliveCount checks keepalive of an upstream block.
func checkKeepaliveCount(c *checker, d *Directive) {
	if n, ok := ParseInt(d.Arg(0)); !ok || n == 0 {
		c.errs.Add(d.At(0), `invalid value "`+d.Arg(0)+`" in "keepalive" directive`, "a whole number from 1 is expected")
	}
}

// upstreamClosed checks that the block has servers, and not only such as stand in for others.
func (c *checker) upstreamClosed(d *Directive) {
	servers := d.Block.Own("server")
	if len(servers) == 0 {
		c.errs.Add(d.Close, "no servers are inside upstream", "add server ADDRESS;")
		return
	}
	c.noSlowStart(d, servers)
	for _, s := range servers {
		if !slices.ContainsFunc(s.Args[1:], func(a Word) bool { return a.Text == "backup" }) {
			return
		}
	}
	c.errs.Late(AtHTTPEnd, d.Pos, `no servers in upstream "`+d.Arg(0)+`"`, "a backup needs a server that it stands in for")
}

// noSlowStart checks that no server starts slowly under a method that does not look at weights anew each time.
func (c *checker) noSlowStart(d *Directive, servers []*Directive) {
	methods := d.Block.Own("least_conn", "ip_hash", "hash", "random")
	if len(methods) == 0 || methods[len(methods)-1].Name == "least_conn" {
		return
	}
	for _, s := range servers {
		if slices.ContainsFunc(s.Args[1:], func(a Word) bool { return strings.HasPrefix(a.Text, "slow_start=") }) {
			c.errs.Add(s.Pos, `balancing method does not support parameter "slow_start"`, "leave out slow_start, or "+methods[len(methods)-1].Name)
		}
	}
}
