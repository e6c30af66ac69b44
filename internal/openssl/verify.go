package openssl

import "strconv"

// VerifyError is why a certificate is not trusted, by OpenSSL's number. 0 is none.
type VerifyError int

// The reasons that are told apart here, by their numbers in OpenSSL.
const (
	Trusted              VerifyError = 0
	NoIssuer             VerifyError = 2 // of a certificate that is trusted itself
	NoCRL                VerifyError = 3
	BadSignature         VerifyError = 7
	BadCRLSignature      VerifyError = 8
	NotYetValid          VerifyError = 9
	Expired              VerifyError = 10
	CRLNotYetValid       VerifyError = 11
	CRLExpired           VerifyError = 12
	SelfSigned           VerifyError = 18
	SelfSignedInChain    VerifyError = 19
	NoIssuerLocally      VerifyError = 20
	LeafNotVerified      VerifyError = 21
	Revoked              VerifyError = 23
	PathTooLong          VerifyError = 25
	WrongPurpose         VerifyError = 26
	MayNotSign           VerifyError = 32
	UnknownCritical      VerifyError = 34
	UnknownCriticalInCRL VerifyError = 36
	MayNotSignCRL        VerifyError = 35
	NameNotPermitted     VerifyError = 47
	WeakKey              VerifyError = 66
	WeakCAKey            VerifyError = 67
	WeakSignature        VerifyError = 68
	InvalidCA            VerifyError = 79
	Unspecified          VerifyError = 1
)

// String returns OpenSSL's words for it.
func (e VerifyError) String() string {
	switch e {
	case Trusted:
		return "ok"
	case Unspecified:
		return "unspecified certificate verification error"
	case NoIssuer:
		return "unable to get issuer certificate"
	case NoCRL:
		return "unable to get certificate CRL"
	case BadSignature:
		return "certificate signature failure"
	case BadCRLSignature:
		return "CRL signature failure"
	case NotYetValid:
		return "certificate is not yet valid"
	case Expired:
		return "certificate has expired"
	case CRLNotYetValid:
		return "CRL is not yet valid"
	case CRLExpired:
		return "CRL has expired"
	case SelfSigned:
		return "self-signed certificate"
	case SelfSignedInChain:
		return "self-signed certificate in certificate chain"
	case NoIssuerLocally:
		return "unable to get local issuer certificate"
	case LeafNotVerified:
		return "unable to verify the first certificate"
	}
	return e.more()
}

func (e VerifyError) more() string {
	switch e {
	case Revoked:
		return "certificate revoked"
	case PathTooLong:
		return "path length constraint exceeded"
	case WrongPurpose:
		return "unsuitable certificate purpose"
	case MayNotSign:
		return "key usage does not include certificate signing"
	case UnknownCritical:
		return "unhandled critical extension"
	case MayNotSignCRL:
		return "key usage does not include CRL signing"
	case UnknownCriticalInCRL:
		return "unhandled critical CRL extension"
	case NameNotPermitted:
		return "permitted subtree violation"
	case WeakKey:
		return "EE certificate key too weak"
	case WeakCAKey:
		return "CA certificate key too weak"
	case WeakSignature:
		return "CA signature digest algorithm too weak"
	case InvalidCA:
		return "invalid CA certificate"
	}
	return strconv.Itoa(int(e))
}

// Optional reports whether optional_no_ca lets a certificate pass in spite of it: who issued it is not known
// (ngx_ssl_verify_error_optional).
func (e VerifyError) Optional() bool {
	return e == SelfSigned || e == SelfSignedInChain || e == NoIssuerLocally || e == LeafNotVerified
}
