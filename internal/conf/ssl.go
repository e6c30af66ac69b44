package conf

import (
	"crypto/tls"
	"strings"
)

// Protocols are the versions of ssl_protocols.
type Protocols struct {
	Versions []uint16 // those that crypto/tls speaks, the oldest first
}

// ReadProtocols reads ssl_protocols.
func ReadProtocols(d *Directive, errs *Errors) (Protocols, bool) {
	var p Protocols
	known := []string{"SSLv2", "SSLv3", "TLSv1", "TLSv1.1", "TLSv1.2", "TLSv1.3"}
	seen := make([]bool, len(known))
next:
	for i := range d.Args {
		for k, name := range known {
			if !equalFold(name, d.Arg(i)) {
				continue
			}
			if seen[k] {
				errs.Note(d.Pos, `duplicate value "`+d.Arg(i)+`"`, "")
			}
			seen[k] = true
			continue next
		}
		errs.Add(d.At(i), `invalid value "`+d.Arg(i)+`"`, "the versions are "+strings.Join(known[2:], ", "))
		return p, false
	}
	for k, version := range []uint16{0, 0, tls.VersionTLS10, tls.VersionTLS11, tls.VersionTLS12, tls.VersionTLS13} {
		if seen[k] && version != 0 {
			p.Versions = append(p.Versions, version)
		}
	}
	if len(p.Versions) == 0 {
		errs.Add(d.Pos, `"ssl_protocols" leaves no version that can be spoken`, "add TLSv1.2 TLSv1.3; SSLv2 and SSLv3 are not there")
	}
	return p, len(p.Versions) > 0
}

// checkOCSP reads ssl_ocsp.
func checkOCSP(c *checker, d *Directive) {
	oneOf("on", "off", "leaf")(c, d)
	if equalFold(d.Arg(0), "on") || equalFold(d.Arg(0), "leaf") {
		c.errs.Add(d.Pos, `"ssl_ocsp" is not supported: clients whose certificates were revoked would pass`, "name lists of what was revoked in ssl_crl, and write ssl_ocsp off")
	}
}

const confCommandDoc = "What OpenSSL is told. Options and RecordPadding tune it, and Ciphersuites, Curves, Groups and SignatureAlgorithms choose what crypto/tls " +
	"chooses itself: these are read, and noted once. Others are refused, because they would change who may connect, or how: they have directives of their own."

// checkConfCommand reads ssl_conf_command and those of upstreams: SSL_CONF_cmd of OpenSSL, of which nothing is done here.
func checkConfCommand(c *checker, d *Directive) {
	name := strings.ToLower(d.Arg(0))
	switch name {
	case "options", "recordpadding", "numtickets", "signaturealgorithms", "clientsignaturealgorithms":
		c.errs.Mention(d.Pos, `"`+d.Name+" "+d.Arg(0)+`" has no effect`, "crypto/tls has nothing of the kind to tune")
	case "ciphersuites", "curves", "groups":
		c.errs.Mention(d.Pos, `"`+d.Name+" "+d.Arg(0)+`" has no effect`, "crypto/tls chooses the best for both sides")
	case "cipherstring":
		c.errs.Add(d.Pos, `"`+d.Name+" "+d.Arg(0)+`" is not supported`, "use "+strings.Replace(d.Name, "conf_command", "ciphers", 1))
	case "minprotocol", "maxprotocol", "protocol":
		c.errs.Add(d.Pos, `"`+d.Name+" "+d.Arg(0)+`" is not supported`, "use "+strings.Replace(d.Name, "conf_command", "protocols", 1))
	case "certificate", "privatekey", "chaincafile", "chaincapath", "verifycafile", "verifycapath", "requestcafile", "clientcafile", "requestcapath",
		"clientcapath", "serverinfofile", "dhparameters", "verifymode":
		c.errs.Add(d.Pos, `"`+d.Name+" "+d.Arg(0)+`" is not supported`, "it would change who is let in, or trusted; use the directives for certificates")
	default:
		c.errs.Add(d.Pos, `SSL_CONF_cmd("`+d.Arg(0)+`", "`+d.Arg(1)+`") failed (SSL: error:0A000182:SSL routines::unknown cmd name:cmd=`+d.Arg(0)+`)`, d.usage())
	}
}

// SessionCache is ssl_session_cache.
type SessionCache struct {
	Off    bool   // no session is taken up again
	Name   string // of a shared one
	Bytes  int64  // of a shared one
	Number int64  // how many sessions builtin keeps; 0: no builtin cache
}

// Kept reports whether sessions are kept on this side.
func (s *SessionCache) Kept() bool { return !s.Off && (s.Bytes > 0 || s.Number > 0) }

// builtinSessions is how many sessions OpenSSL keeps where nothing is said (SSL_SESSION_CACHE_MAX_SIZE_DEFAULT).
const builtinSessions = 20 << 10

// minSessionCache is eight pages, the least that nginx shares.
const minSessionCache = 32 << 10

// ReadSessionCache reads ssl_session_cache.
func ReadSessionCache(d *Directive, errs *Errors) (SessionCache, bool) {
	var s SessionCache
	for i := range d.Args {
		word := d.Arg(i)
		name, value, hasValue := strings.Cut(word, ":")
		good := true
		switch {
		case word == "off":
			s = SessionCache{Off: true}
		case word == "none":
			s = SessionCache{}
		case word == "builtin":
			s.Number = builtinSessions
		case name == "builtin" && hasValue:
			s.Number, good = ParseInt(value)
		case name == "shared" && hasValue:
			var size string
			s.Name, size, _ = strings.Cut(value, ":")
			s.Bytes, good = ParseSize(size)
			if good = good && s.Name != ""; good && s.Bytes < minSessionCache {
				errs.Add(d.At(i), `session cache "`+word+`" is too small`, "the least is 32k")
				return s, false
			}
		default:
			good = false
		}
		if !good {
			errs.Add(d.At(i), `invalid session cache "`+word+`"`, d.usage())
			return s, false
		}
	}
	return s, true
}

// checkSessionCache reads an ssl_session_cache. Several may name one shared cache, which then has one size.
func (c *checker) checkSessionCache(d *Directive) {
	s, ok := ReadSessionCache(d, c.errs)
	if !ok || s.Name == "" {
		return
	}
	z := c.named(d, s.Name, forSessions)
	if z == nil {
		return
	}
	if z.declared == nil {
		z.bytes, z.declared = s.Bytes, d
		return
	}
	c.sizeConflict(d, z, s.Bytes)
}
