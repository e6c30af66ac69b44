package tlsconf

import (
	"bytes"
	"crypto/x509"
	"encoding/asn1"
	"errors"
	"time"

	"github.com/limitgate/limitgate/internal/openssl"
)

// authorities is whom certificates of the other side are trusted for: the certificates of files that a configuration names,
// and what these have revoked. It is immutable.
type authorities struct {
	trusted map[string][]*x509.Certificate // by subject
	pool    *x509.CertPool
	depth   int // how many certificates may stand between one that is trusted and the peer's own
	crls    crls
	revokes bool // crls decide
	usage   x509.ExtKeyUsage
}

// verify says whether the certificates that a peer sent are trusted at an instant, its own first. A chain must pass twice: by
// OpenSSL's rules, which give the number of what is wrong, and by those of crypto/x509, which have the last word.
func (a *authorities) verify(peer []*x509.Certificate, now time.Time) openssl.VerifyError {
	chain, known, fault := a.build(peer, now)
	note := func(e openssl.VerifyError) {
		if e != openssl.Trusted { // OpenSSL goes on, and what it finds last is what counts
			fault = e
		}
	}
	for i, c := range chain {
		note(a.extensions(c, i, chain))
	}
	if a.revokes {
		for i, c := range chain {
			note(a.crls.check(c, chain[min(i+1, len(chain)-1)], now))
		}
	}
	for i := len(chain) - 1; i >= 0; i-- {
		switch {
		case i < len(chain)-1:
			note(signed(chain[i], chain[i+1]))
		case len(chain) == 1 && !selfIssued(chain[i]) && known == 0:
			note(openssl.LeafNotVerified)
		case i > 0 && !selfIssued(chain[i]):
			continue // the last one without an issuer is not looked at
		}
		note(timely(chain[i], now))
	}
	if fault != openssl.Trusted {
		return fault
	}
	return a.confirm(peer, now)
}

// confirm asks crypto/x509.
func (a *authorities) confirm(peer []*x509.Certificate, now time.Time) openssl.VerifyError {
	between := x509.NewCertPool()
	for _, c := range peer[1:] {
		between.AddCert(c)
	}
	_, err := peer[0].Verify(x509.VerifyOptions{Roots: a.pool, Intermediates: between, CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{a.usage}})
	if err == nil {
		return openssl.Trusted
	}
	var invalid x509.CertificateInvalidError
	var unknown x509.UnknownAuthorityError
	var critical x509.UnhandledCriticalExtension
	switch {
	case errors.As(err, &invalid):
		return invalidity(invalid.Reason)
	case errors.As(err, &critical):
		return openssl.UnknownCritical
	case errors.As(err, &unknown):
		return openssl.InvalidCA // one that OpenSSL would take: without it there is a chain
	}
	return openssl.Unspecified
}

func invalidity(reason x509.InvalidReason) openssl.VerifyError {
	switch reason {
	case x509.NotAuthorizedToSign:
		return openssl.InvalidCA
	case x509.Expired:
		return openssl.Expired
	case x509.TooManyIntermediates:
		return openssl.PathTooLong
	case x509.IncompatibleUsage:
		return openssl.WrongPurpose
	case x509.CANotAuthorizedForThisName, x509.NameConstraintsWithoutSANs, x509.UnconstrainedName, x509.TooManyConstraints:
		return openssl.NameNotPermitted
	case x509.CANotAuthorizedForExtKeyUsage:
		return openssl.WrongPurpose
	}
	return openssl.Unspecified
}

// build looks for a chain from the peer's certificate to one that is trusted and issued itself, by trusted certificates where
// there are such, else by those that the peer sent (build_chain). known is how many of its end are trusted.
func (a *authorities) build(peer []*x509.Certificate, now time.Time) (chain []*x509.Certificate, known int, fault openssl.VerifyError) {
	chain = []*x509.Certificate{peer[0]}
	others := append([]*x509.Certificate(nil), peer[1:]...)
	most := a.depth + 1
	for len(chain) <= most {
		last := chain[len(chain)-1]
		if found := pick(a.trusted[string(last.RawIssuer)], last, now); found != nil {
			switch {
			case !selfIssued(last):
				chain, known = append(chain, found), known+1
				others = nil // from here on only trusted ones are asked
				if selfIssued(found) {
					return chain, known, openssl.Trusted
				}
				continue
			case bytes.Equal(found.Raw, last.Raw):
				return chain, known + 1, openssl.Trusted
			}
		}
		if known > 0 || selfIssued(last) {
			break
		}
		next := pick(others, last, now)
		if next == nil {
			break
		}
		for i := range others {
			if others[i] == next {
				others = append(others[:i], others[i+1:]...)
				break
			}
		}
		chain = append(chain, next)
	}
	return chain, known, untrusted(chain, known)
}

// untrusted says why a chain ends without one that is trusted. That it is too long is never the last word.
func untrusted(chain []*x509.Certificate, known int) openssl.VerifyError {
	switch {
	case selfIssued(chain[len(chain)-1]) && len(chain) == 1:
		return openssl.SelfSigned
	case selfIssued(chain[len(chain)-1]):
		return openssl.SelfSignedInChain
	case known > 0:
		return openssl.NoIssuer
	}
	return openssl.NoIssuerLocally
}

// pick returns the one among certificates that has issued c, by names and keys: one that is valid now, or the one that was
// longest.
func pick(from []*x509.Certificate, c *x509.Certificate, now time.Time) (best *x509.Certificate) {
	for _, i := range from {
		if !issues(i, c) {
			continue
		}
		if timely(i, now) == openssl.Trusted {
			return i
		}
		if best == nil || i.NotAfter.After(best.NotAfter) {
			best = i
		}
	}
	return best
}

// issues reports whether c says that it is from issuer.
func issues(issuer, c *x509.Certificate) bool {
	return bytes.Equal(issuer.RawSubject, c.RawIssuer) &&
		(len(c.AuthorityKeyId) == 0 || len(issuer.SubjectKeyId) == 0 || bytes.Equal(c.AuthorityKeyId, issuer.SubjectKeyId))
}

// selfIssued reports whether c says that it is its own issuer.
func selfIssued(c *x509.Certificate) bool { return issues(c, c) }

func timely(c *x509.Certificate, now time.Time) openssl.VerifyError {
	switch {
	case now.Before(c.NotBefore):
		return openssl.NotYetValid
	case now.After(c.NotAfter):
		return openssl.Expired
	}
	return openssl.Trusted
}

// signed checks the signature of c. Whether its issuer may sign is seen elsewhere.
func signed(c, issuer *x509.Certificate) openssl.VerifyError {
	err := issuer.CheckSignature(c.SignatureAlgorithm, c.RawTBSCertificate, c.Signature)
	var weak x509.InsecureAlgorithmError
	switch {
	case err == nil && issuer.KeyUsage != 0 && issuer.KeyUsage&x509.KeyUsageCertSign == 0:
		return openssl.MayNotSign
	case err == nil:
		return openssl.Trusted
	case errors.As(err, &weak):
		return openssl.WeakSignature
	}
	return openssl.BadSignature
}

// extensions checks what the certificate at a place of a chain may be used for (check_extensions).
func (a *authorities) extensions(c *x509.Certificate, at int, chain []*x509.Certificate) (fault openssl.VerifyError) {
	if len(c.UnhandledCriticalExtensions) > 0 {
		fault = openssl.UnknownCritical
	}
	if at > 0 && !mayIssue(c) || !a.fits(c, at > 0) {
		fault = openssl.WrongPurpose
	}
	below := 0 // that count for the length of a path: not the first, and none that issued itself
	for _, b := range chain[1:max(at, 1)] {
		if !bytes.Equal(b.RawSubject, b.RawIssuer) {
			below++
		}
	}
	if at > 0 && c.BasicConstraintsValid && (c.MaxPathLen > 0 || c.MaxPathLenZero) && below > c.MaxPathLen {
		fault = openssl.PathTooLong
	}
	return fault
}

// mayIssue reports whether c is an authority (check_ca).
func mayIssue(c *x509.Certificate) bool {
	if c.KeyUsage != 0 && c.KeyUsage&x509.KeyUsageCertSign == 0 {
		return false
	}
	if c.BasicConstraintsValid {
		return c.IsCA
	}
	return c.Version == 1 && selfIssued(c) || c.KeyUsage != 0
}

// fits reports whether c may be used by the side that it is for (check_purpose_ssl_client, check_purpose_ssl_server).
func (a *authorities) fits(c *x509.Certificate, authority bool) bool {
	if len(c.ExtKeyUsage)+len(c.UnknownExtKeyUsage) > 0 {
		named := false
		for _, u := range c.ExtKeyUsage {
			named = named || u == a.usage || a.usage == x509.ExtKeyUsageServerAuth &&
				(u == x509.ExtKeyUsageNetscapeServerGatedCrypto || u == x509.ExtKeyUsageMicrosoftServerGatedCrypto)
		}
		if !named {
			return false
		}
	}
	if authority || c.KeyUsage == 0 {
		return true
	}
	enough := x509.KeyUsageDigitalSignature | x509.KeyUsageKeyAgreement
	if a.usage == x509.ExtKeyUsageServerAuth {
		enough |= x509.KeyUsageKeyEncipherment
	}
	return c.KeyUsage&enough != 0
}

// crls are lists of what was revoked, by their issuers.
type crls map[string][]*crl

type crl struct {
	list     *x509.RevocationList
	revoked  map[string]bool // by serial number
	critical bool            // it holds what must be understood and is not
}

// removed is the reason of an entry that takes back an earlier one (removeFromCRL).
const removed = 8

func newCRL(list *x509.RevocationList) *crl {
	c := &crl{list: list, revoked: map[string]bool{}}
	for _, e := range list.RevokedCertificateEntries {
		if e.ReasonCode != removed {
			c.revoked[e.SerialNumber.String()] = true
		}
		for _, x := range e.Extensions {
			c.critical = c.critical || x.Critical && !x.Id.Equal(reasonCode)
		}
	}
	for _, e := range list.Extensions {
		c.critical = c.critical || e.Critical
	}
	return c
}

var reasonCode = asn1.ObjectIdentifier{2, 5, 29, 21}

// check says whether a certificate was revoked. There must be a list of its issuer.
func (l crls) check(c, issuer *x509.Certificate, now time.Time) (fault openssl.VerifyError) {
	var best *crl
	for _, k := range l[string(c.RawIssuer)] {
		if len(k.list.AuthorityKeyId) > 0 && len(issuer.SubjectKeyId) > 0 && !bytes.Equal(k.list.AuthorityKeyId, issuer.SubjectKeyId) {
			continue
		}
		if best == nil || best.better(k, now) {
			best = k
		}
	}
	if best == nil {
		return openssl.NoCRL
	}
	if issuer.KeyUsage != 0 && issuer.KeyUsage&x509.KeyUsageCRLSign == 0 {
		fault = openssl.MayNotSignCRL
	}
	switch {
	case now.Before(best.list.ThisUpdate):
		fault = openssl.CRLNotYetValid
	case !best.list.NextUpdate.IsZero() && now.After(best.list.NextUpdate):
		fault = openssl.CRLExpired
	}
	if issuer.CheckSignature(best.list.SignatureAlgorithm, best.list.RawTBSRevocationList, best.list.Signature) != nil {
		fault = openssl.BadCRLSignature
	}
	if best.critical {
		fault = openssl.UnknownCriticalInCRL
	}
	if best.revoked[c.SerialNumber.String()] {
		fault = openssl.Revoked
	}
	return fault
}

// better reports whether another list of the same issuer counts rather than c: one that is valid, the newest of several.
func (c *crl) better(other *crl, now time.Time) bool {
	valid := func(k *crl) bool {
		return !now.Before(k.list.ThisUpdate) && (k.list.NextUpdate.IsZero() || !now.After(k.list.NextUpdate))
	}
	if v := valid(other); v != valid(c) {
		return v
	}
	return other.list.ThisUpdate.After(c.list.ThisUpdate)
}
