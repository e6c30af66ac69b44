package openssl

import (
	"crypto/tls"
	"fmt"
)

// CipherName returns the name of a suite as $ssl_cipher has it. Suites without a name are written as nginx writes them: by
// number.
func CipherName(id uint16) string {
	switch id {
	case tls.TLS_AES_128_GCM_SHA256, tls.TLS_AES_256_GCM_SHA384, tls.TLS_CHACHA20_POLY1305_SHA256:
		return tls.CipherSuiteName(id)
	}
	for _, c := range ciphers {
		if c.id == id {
			return c.name
		}
	}
	return fmt.Sprintf("0x%04x", id)
}

// OfferedCipher returns the name of a suite that a client offered, as $ssl_ciphers has it: those that OpenSSL knows by name, others
// by number.
func OfferedCipher(id uint16) string {
	switch id {
	case tls.TLS_AES_128_GCM_SHA256, tls.TLS_AES_256_GCM_SHA384, tls.TLS_CHACHA20_POLY1305_SHA256:
		return tls.CipherSuiteName(id)
	case 0x00ff:
		return "TLS_EMPTY_RENEGOTIATION_INFO_SCSV"
	case tls.TLS_FALLBACK_SCSV:
		return "TLS_FALLBACK_SCSV"
	}
	for i := range ciphers {
		if ciphers[i].number == id {
			return ciphers[i].name
		}
	}
	return fmt.Sprintf("0x%04x", id)
}

// VersionName returns the name of a version of the protocol as ssl_protocols and $ssl_protocol have it.
func VersionName(version uint16) string {
	switch version {
	case tls.VersionTLS10:
		return "TLSv1"
	case tls.VersionTLS11:
		return "TLSv1.1"
	case tls.VersionTLS12:
		return "TLSv1.2"
	case tls.VersionTLS13:
		return "TLSv1.3"
	}
	return "unknown"
}
