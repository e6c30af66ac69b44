package tlsconf

import (
	"cmp"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/limitgate/limitgate/internal/conf"
	"github.com/limitgate/limitgate/internal/errorlog"
	"github.com/limitgate/limitgate/internal/openssl"
	"github.com/limitgate/limitgate/internal/request"
	"github.com/limitgate/limitgate/internal/vars"
)

// Env is what servers are compiled with.
type Env struct {
	Vars     *vars.Table
	Errors   *conf.Errors
	Sessions *Sessions // may be nil for upstreams
	Dir      string    // what relative names of files belong to: the folder of the configuration file
}

// Server is the TLS side of one server. It is immutable.
type Server struct {
	plain   offer
	both    offer   // HTTP/2 as well
	keeper  *keeper // nil: no session is taken up again
	rejects bool
	Record  int // bytes that are encrypted at a time: ssl_buffer_size
}

// Rejects reports whether the server refuses handshakes.
func (s *Server) Rejects() bool { return s.rejects }

// offer is what clients are offered.
type offer struct {
	config   *tls.Config
	versions map[uint16]*tls.Config // one for each version, where those that are spoken have a gap
}

// newOffer makes the configurations of an offer; versions are all that are spoken, in order.
func newOffer(config *tls.Config, versions []uint16) offer {
	o := offer{config: config}
	if int(config.MaxVersion-config.MinVersion) >= len(versions) {
		o.versions = map[uint16]*tls.Config{}
		for _, v := range versions {
			one := config.Clone()
			one.MinVersion, one.MaxVersion = v, v
			o.versions[v] = one
		}
	}
	return o
}

// protocolHTTP2 is HTTP/2 as TLS names it.
const protocolHTTP2 = "h2"

// Config returns the configuration for a client that means this server, which may be offered HTTP/2. What the session is called is
// told to the connection: such a configuration is that one's alone, and nobody may keep it.
func (s *Server) Config(hello *tls.ClientHelloInfo, http2 bool) *tls.Config {
	o := &s.plain
	if http2 {
		o = &s.both
	}
	config := o.config
	for _, v := range hello.SupportedVersions { // the client's best first
		if c := o.versions[v]; c != nil {
			config = c
			break
		}
	}
	p, tells := hello.Conn.(Peer)
	if s.keeper == nil || !tells || p.Info().TLS == nil {
		return config
	}
	config = config.Clone()
	s.keeper.install(config, p.Info().TLS)
	return config
}

// maxRecord is the most that TLS encrypts at a time.
const maxRecord = 16 << 10

// Compile reads the directives of a server. There is no Server where it has no certificate and does not refuse handshakes
// either: it then has no TLS of its own. What it wants of clients' certificates is never nil. Faults go to env.Errors.
func Compile(env *Env, s *conf.Scope) (*Server, *Clients) {
	c := &compiler{env: env, scope: s}
	passwords := c.passwords()
	certs, keys := s.All("ssl_certificate"), s.All("ssl_certificate_key")
	rejects := c.flag("reject_handshake", false)
	if len(certs) == 0 && !rejects {
		return nil, compileClients(env, s, false)
	}
	if len(keys) < len(certs) {
		c.fault(`no "ssl_certificate_key" is defined for certificate "`+shown(certs[len(certs)-1].Arg(0))+`"`, "each ssl_certificate has a key of its own")
		return nil, &Clients{}
	}
	out := &Server{rejects: rejects, Record: c.record()}
	config, versions := &tls.Config{NextProtos: []string{"http/1.1"}, DynamicRecordSizingDisabled: true}, c.versions()
	config.MinVersion, config.MaxVersion = versions[0], versions[len(versions)-1]
	mark := c.certificates(config, certs, keys, passwords)
	c.ciphers(config)
	c.groups(config)
	clients := compileClients(env, s, true)
	clients.install(config)
	out.keeper = c.keep(config, append(mark, clients.mark...))
	if rejects {
		out.keeper, out.plain.config = nil, new(tls.Config) // without certificates crypto/tls answers as nginx does: unrecognized_name
		out.both = out.plain
		return out, clients
	}
	both := config.Clone()
	both.NextProtos = append([]string{protocolHTTP2}, config.NextProtos...)
	out.plain, out.both = newOffer(config, versions), newOffer(both, versions)
	return out, clients
}

type compiler struct {
	env    *Env
	scope  *conf.Scope
	prefix string // of the directives: "ssl_" where it is empty
}

// get returns the directive that is in force, by the part of its name behind the prefix.
func (c *compiler) get(name string) (*conf.Directive, bool) {
	return c.scope.Get(cmp.Or(c.prefix, "ssl_") + name)
}

// fault reports what nginx finds when the directives of a server are merged: without a place.
func (c *compiler) fault(msg, help string) { c.env.Errors.Late(conf.AtHTTPEnd, conf.Pos{}, msg, help) }

func (c *compiler) flag(name string, otherwise bool) bool {
	if d, found := c.get(name); found {
		if on, good := d.Flag(c.env.Errors); good {
			return on
		}
	}
	return otherwise
}

func (c *compiler) record() int {
	if d, found := c.get("buffer_size"); found {
		if n, good := d.Size(c.env.Errors, 0); good && n > 0 {
			return int(min(n, maxRecord))
		}
	}
	return maxRecord
}

func (c *compiler) versions() []uint16 {
	if d, found := c.get("protocols"); found {
		if p, good := conf.ReadProtocols(d, c.env.Errors); good {
			return p.Versions
		}
	}
	return []uint16{tls.VersionTLS12, tls.VersionTLS13}
}

// shown is the name of a certificate as messages have it, without a key that stands in the directive itself.
func shown(word string) string {
	if strings.HasPrefix(word, "data:") {
		return "data:"
	}
	return word
}

// maxPasswords is how much of a file of passwords is read.
const maxPasswords = 64 << 10

// passwords reads ssl_password_file.
func (c *compiler) passwords() (list []string) {
	d, found := c.get("password_file")
	if !found {
		return nil
	}
	path := newSource(d.Arg(0), c.env.Dir).path
	f, err := os.Open(path)
	if err != nil {
		c.env.Errors.Add(d.Pos, fmt.Sprintf("open() %q failed (%s)", path, errorlog.Errno(err)), "")
		return nil
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxPasswords))
	if err != nil {
		c.env.Errors.Add(d.Pos, fmt.Sprintf("read() %q failed (%s)", path, errorlog.Errno(err)), "")
		return nil
	}
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimRight(line, "\r\n"); line != "" {
			list = append(list, line)
		}
	}
	return list
}

// certificates makes config answer with one of the pairs. mark tells apart who has other certificates.
func (c *compiler) certificates(config *tls.Config, certs, keys []*conf.Directive, passwords []string) (mark []byte) {
	sum := sha256.New()
	var pairs []*tls.Certificate
	var dynamic []*template
	for i := range certs {
		if usesVariables(certs[i]) || usesVariables(keys[i]) {
			cert, key := c.env.Vars.CompileWord(certs[i].Args[0], c.env.Errors), c.env.Vars.CompileWord(keys[i].Args[0], c.env.Errors)
			if cert != nil && key != nil {
				dynamic = append(dynamic, &template{env: c.env, cert: cert, key: key, passwords: passwords})
			}
			fmt.Fprintf(sum, "%q", certs[i].Arg(0))
			continue
		}
		p, failed := pair(newSource(certs[i].Arg(0), c.env.Dir), newSource(keys[i].Arg(0), c.env.Dir), passwords)
		if failed != nil {
			c.fault(failed.msg, failed.help)
			continue
		}
		sum.Write(p.Certificate[0])
		pairs = append(pairs, p)
	}
	config.GetCertificate = func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
		if len(dynamic) == 0 {
			return choose(hello, pairs), nil
		}
		all := pairs[:len(pairs):len(pairs)]
		for _, t := range dynamic {
			p, err := t.load(hello)
			if err != nil {
				return nil, err
			}
			all = append(all, p)
		}
		return choose(hello, all), nil
	}
	return sum.Sum(nil)[:16]
}

func usesVariables(d *conf.Directive) bool { return strings.Contains(d.Arg(0), "$") }

// choose returns the pair for a client: one that its algorithms fit, of ECDSA before others, whatever names it has.
func choose(hello *tls.ClientHelloInfo, pairs []*tls.Certificate) *tls.Certificate {
	if len(pairs) == 1 {
		return pairs[0]
	}
	nameless := *hello
	nameless.ServerName = ""
	var fits *tls.Certificate
	for _, p := range pairs {
		if nameless.SupportsCertificate(p) == nil && (fits == nil || isRSA(fits) && !isRSA(p)) {
			fits = p
		}
	}
	if fits == nil {
		return pairs[0]
	}
	return fits
}

func isRSA(p *tls.Certificate) bool { return p.Leaf.PublicKeyAlgorithm == x509.RSA }

// template is a pair whose names are known only with a client.
type template struct {
	env       *Env
	cert, key *vars.Template
	passwords []string
}

// Peer is what a connection can tell that is being shaken hands with: hello.Conn of an edge.
type Peer interface{ Info() *request.Conn }

// load reads the pair for a client.
func (t *template) load(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	r := &request.Request{Conn: &request.Conn{}}
	if p, ok := hello.Conn.(Peer); ok {
		r.Conn = p.Info()
	}
	r.Reset()
	r.ClientAddr = r.Conn.PeerAddr
	r.Slots = make([]request.Slot, t.env.Vars.Slots())
	cert, key := string(t.cert.Append(r, nil)), string(t.key.Append(r, nil))
	p, failed := pair(newSource(cert, t.env.Dir), newSource(key, t.env.Dir), t.passwords)
	if failed != nil {
		return nil, failed
	}
	return p, nil
}

func (c *compiler) ciphers(config *tls.Config) { c.ciphersOr(config, "HIGH:!aNULL:!MD5") }

// ciphersOr reads the suites, text where none are named.
func (c *compiler) ciphersOr(config *tls.Config, text string) {
	d, found := c.get("ciphers")
	if found {
		text = d.Arg(0)
	}
	list, fault := openssl.ParseCiphers(text)
	config.CipherSuites = list.Suites
	switch {
	case fault != "":
		c.fault(fmt.Sprintf("SSL_CTX_set_cipher_list(%q) failed (SSL: %s)", text, fault), "for example HIGH:!aNULL:!MD5")
	case len(list.Suites) == 0 && config.MinVersion < tls.VersionTLS13:
		c.fault(fmt.Sprintf(cmp.Or(c.prefix, "ssl_")+"ciphers %q leaves none that is there", text), "suites with ECDHE and RSA are, with AES and ChaCha20: HIGH:!aNULL:!MD5")
	case len(list.Absent) > 0 && found:
		c.env.Errors.Mention(d.Pos, `"`+d.Name+`" names what is not there: `+strings.Join(list.Absent, " "), "clients get one of the others")
	}
}

func (c *compiler) groups(config *tls.Config) {
	d, found := c.get("ecdh_curve")
	if !found || d.Arg(0) == "auto" {
		return
	}
	list, unknown, good := openssl.ParseGroups(d.Arg(0))
	switch {
	case unknown != "":
		c.fault(fmt.Sprintf("SSL_CTX_set1_curves_list(%q) failed (SSL: %s)", d.Arg(0), openssl.GroupUnknown(unknown)), "for example X25519:prime256v1:secp384r1")
	case !good:
		c.fault(fmt.Sprintf("SSL_CTX_set1_curves_list(%q) failed", d.Arg(0)), "each group may stand there once")
	case len(list.Groups) == 0:
		c.fault(fmt.Sprintf("ssl_ecdh_curve %q leaves none that is there", d.Arg(0)), "these are: X25519MLKEM768, X25519, prime256v1, secp384r1, secp521r1")
	case len(list.Absent) > 0:
		c.env.Errors.Mention(d.Pos, `"ssl_ecdh_curve" names what is not there: `+strings.Join(list.Absent, " "), "clients get one of the others")
	}
	config.CurvePreferences = list.Groups
}

// keep arranges for clients that come again.
func (c *compiler) keep(config *tls.Config, mark []byte) *keeper {
	var cache conf.SessionCache
	if d, found := c.get("session_cache"); found {
		cache, _ = conf.ReadSessionCache(d, c.env.Errors)
	}
	sum := sha256.Sum256(mark)
	k := &keeper{sessions: c.env.Sessions, tickets: c.env.Sessions.tickets, mark: sum[:16], timeout: 5 * time.Minute}
	if d, found := c.get("session_timeout"); found {
		k.timeout, _ = d.Seconds(c.env.Errors, 0)
	}
	if own := c.ticketKeys(); own != nil {
		k.tickets = own
	}
	tickets := c.flag("session_tickets", true)
	switch {
	case cache.Off, !tickets && !cache.Kept():
		config.SessionTicketsDisabled = true
		return nil
	case !tickets:
		k.cache = c.env.Sessions.cache(cache)
	}
	k.install(config, nil)
	return k
}

// ticketKeys reads ssl_session_ticket_key: tickets are written with the first key and read with all of them. The same files
// give the same keys everywhere.
func (c *compiler) ticketKeys() *tls.Config {
	var keys [][32]byte
	for _, d := range c.scope.All("ssl_session_ticket_key") {
		text, failed := ticketKey(newSource(d.Arg(0), c.env.Dir).path)
		if failed != nil {
			c.env.Errors.Late(conf.AtHTTPEnd, c.scope.Enclosing(conf.HTTP).Opener.Close, failed.msg, failed.help)
			return nil
		}
		keys = append(keys, sha256.Sum256(append([]byte("limitgate tickets\n"), text...)))
	}
	if keys == nil {
		return nil
	}
	config := new(tls.Config)
	config.SetSessionTicketKeys(keys)
	return config
}
