package conf

import (
	"net"
	"net/netip"
	"slices"
	"strings"
	"time"
)

// LimitStore is a limit_store directive. There are no secrets in it.
type LimitStore struct {
	Name    string
	URL     string        // with a port at each address
	Lease   bool          // mode=lease: what is borrowed from the store is spent in memory
	Batch   int64         // how many requests of a key are borrowed at a time, at most; 0: a tenth of what a limit lets pass at once
	Timeout time.Duration // of a call
	Prefix  string        // of all that is stored
	User    string
	// PasswordFile and PasswordEnv are where the password stands; the configuration never has it.
	PasswordFile string
	PasswordEnv  string
	CA           string // file
	At           Pos
}

// Same reports whether two directives mean one store, wherever they stand.
func (s LimitStore) Same(other LimitStore) bool {
	s.At = other.At
	return s == other
}

// The defaults of a limit_store.
const (
	storeTimeout = 50 * time.Millisecond
	storePrefix  = "lg"
	maxTimeout   = 10 * time.Second
	maxBatch     = 32767
)

// ReadLimitStore reads a limit_store directive. What it says of a fault repeats nothing that could be a secret.
func ReadLimitStore(d *Directive, errs *Errors) (LimitStore, bool) {
	s := LimitStore{Name: d.Arg(0), Timeout: storeTimeout, Prefix: storePrefix, At: d.Pos}
	p := parameters{d: d, errs: errs, ok: true}
	if strings.Contains(s.Name, "=") || strings.Contains(s.Name, "://") {
		p.fault(d.At(0), `"limit_store" must have a name`, d.usage())
		return s, false
	}
	p.storeURL(d.Args[1], &s)
	for _, a := range d.Args[2:] {
		if !p.ok {
			break
		}
		name, value, _ := strings.Cut(a.Text, "=")
		if value == "" || hasVariable(value) {
			p.fault(a.Pos, `invalid parameter "`+name+`"`, d.usage())
			break
		}
		switch name {
		case "mode":
			s.Lease = p.word(a, value, "strict", "lease") == "lease"
		case "lease":
			n, ok := ParseInt(value)
			if !ok || n < 1 || n > maxBatch {
				p.invalid(a, name, "1 to 32767 requests of a key are borrowed at a time, for example lease=10")
			}
			s.Batch = n
		case "timeout":
			t, ok := ParseDuration(value)
			if !ok || t < time.Millisecond || t > maxTimeout {
				p.invalid(a, name, "a call to the store may take 1ms to 10s, for example timeout=50ms")
			}
			s.Timeout = t
		case "prefix":
			if s.Prefix = value; strings.ContainsAny(value, "{}") {
				p.invalid(a, name, "braces belong to the key of a client")
			}
		case "user":
			s.User = value
		case "password_file":
			s.PasswordFile = value
		case "password_env":
			s.PasswordEnv = value
		case "ca":
			s.CA = value
		case "password":
			p.fault(a.Pos, `"password" can't stand in the configuration`, "configurations are dumped and sent around: write password_file=FILE, or password_env=NAME for a variable of the environment")
		default:
			p.fault(a.Pos, `invalid parameter "`+name+`"`, d.usage())
		}
	}
	if p.ok {
		p.storeFits(&s)
	}
	return s, p.ok
}

// storeFits reports parameters that contradict each other.
func (p *parameters) storeFits(s *LimitStore) {
	switch {
	case s.Batch != 0 && !s.Lease:
		p.fault(p.d.Pos, `"lease" is for mode=lease`, "write mode=lease, or leave lease= out")
	case s.PasswordFile != "" && s.PasswordEnv != "":
		p.fault(p.d.Pos, `"password_file" and "password_env" contradict each other`, "the password stands in one place")
	case s.User != "" && s.PasswordFile == "" && s.PasswordEnv == "":
		p.fault(p.d.Pos, `"user" needs "password_file" or "password_env"`, "a user of the store's ACL has a password")
	case s.CA != "" && !strings.HasPrefix(s.URL, "rediss"):
		p.fault(p.d.Pos, `"ca" is for rediss://`, "write rediss:// for TLS, or leave ca= out")
	}
}

// storeURLs is how a store is named.
const storeURLs = "write redis://HOST:PORT, or unix:///PATH, or redis+sentinel://HOST:PORT/MASTER; rediss is with TLS; " +
	"several addresses of a cluster or of Sentinels have commas between them; /N at the end is the number of a database"

// storeURL reads SCHEME://HOST[:PORT][,HOST[:PORT]…][/MASTER][/DB], and completes the ports.
func (p *parameters) storeURL(a Word, s *LimitStore) {
	bad := func() { p.fault(a.Pos, `invalid URL of store "`+s.Name+`"`, storeURLs) }
	scheme, rest, found := strings.Cut(a.Text, "://")
	if strings.Contains(rest, "@") {
		p.fault(a.Pos, `the URL of store "`+s.Name+`" has a user or a password in it`,
			"configurations are dumped and sent around: write user=NAME, and password_file=FILE or password_env=NAME")
		return
	}
	base, sentinel := strings.CutSuffix(scheme, "+sentinel")
	switch {
	case found && scheme == "unix" && strings.HasPrefix(rest, "/") && len(rest) > 1 && !hasVariable(rest):
		s.URL = a.Text
		return
	case !found || base != "redis" && base != "rediss":
		bad()
		return
	}
	hosts, path, numbered := strings.Cut(rest, "/")
	port, master, db := "6379", "", path
	if sentinel {
		port = "26379"
		master, db, numbered = strings.Cut(path, "/")
	}
	if n, ok := ParseInt(db); numbered && (!ok || n > 1<<20 || strings.Contains(hosts, ",") && !sentinel) || sentinel && (master == "" || hasVariable(master)) {
		bad()
		return
	}
	var list []string
	for host := range strings.SplitSeq(hosts, ",") {
		address, ok := storeAddress(host, port)
		if !ok || slices.Contains(list, address) {
			p.fault(a.Pos, `invalid or repeated address of store "`+s.Name+`"`, storeURLs)
			return
		}
		list = append(list, address)
	}
	s.URL = scheme + "://" + strings.Join(list, ",")
	if master != "" {
		s.URL += "/" + master
	}
	if numbered {
		s.URL += "/" + db
	}
}

// storeAddress completes HOST[:PORT].
func storeAddress(text, standard string) (string, bool) {
	if addr, err := netip.ParseAddr(strings.Trim(text, "[]")); err == nil {
		return net.JoinHostPort(addr.String(), standard), true
	}
	host, port, err := net.SplitHostPort(text)
	if err != nil {
		host, port = text, standard
	}
	n, ok := ParseInt(port)
	if host == "" || !ok || n == 0 || n > 65535 || strings.ContainsAny(host, ":/?#$ \t") {
		return "", false
	}
	return net.JoinHostPort(host, port), true
}

// Fail is what a limit does when its store does not answer: open, closed or local; "" leaves it to what is known then.
type Fail string

// fail reads the fail= of a limit.
func (p *parameters) fail(a Word, value string) Fail {
	return Fail(p.word(a, value, "open", "closed", "local"))
}

// storeName reads the store= of a zone.
func (p *parameters) storeName(a Word, value string) Word {
	if value == "" || hasVariable(value) {
		p.invalid(a, "store", "name a store that limit_store declares: store=NAME")
	}
	return from(a, value)
}

// checkStore reads a limit_store; each name is one store.
func (c *checker) checkStore(d *Directive) {
	s, ok := ReadLimitStore(d, c.errs)
	if !ok {
		return
	}
	for _, other := range d.Scope.Own(d.Name) {
		if other != d && other.Arg(0) == s.Name {
			c.errs.Add(d.Pos, `the store "`+s.Name+`" is already declared`, "the first is at "+other.Pos.String())
			return
		}
	}
}

// stored notes that a zone lives in a store.
func (c *checker) stored(d *Directive, zone string, store Word) {
	if z := c.zones.byName[zone]; store.Text != "" && z != nil && z.declared == d {
		z.store = store
	}
}

// failing notes that a limit says what it does without its store.
func (c *checker) failing(d *Directive, zone string, f Fail) {
	if z := c.zones.byName[zone]; f != "" && z != nil {
		z.failing = append(z.failing, d)
	}
}

// stores checks, when all was read, that zones are in stores that there are, and that limits which say what they do without one
// have one.
func (c *checker) stores(http *Scope) {
	declared := map[string]bool{}
	for _, d := range http.Own("limit_store") {
		declared[d.Arg(0)] = true
	}
	for _, z := range c.zones.order {
		if z.store.Text != "" && !declared[z.store.Text] {
			c.errs.Late(AtStart, z.store.Pos, `unknown store "`+z.store.Text+`"`, "declare it in http: limit_store "+z.store.Text+" redis://HOST:PORT;")
		}
		if z.store.Text != "" || z.declared == nil {
			continue
		}
		for _, d := range z.failing {
			c.errs.Note(d.Pos, `"fail" has no effect: zone "`+z.name+`" is in this process and can't be out of reach`, "a zone is in a store with store=NAME")
		}
	}
}
