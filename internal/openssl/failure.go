package openssl

import (
	"errors"
	"strings"
)

// HandshakeFailure returns what OpenSSL says of a handshake that failed, as the error log shows it behind "SSL: ". What has
// no counterpart there is told in crypto/tls's own words, which hold no secret of either side.
func HandshakeFailure(err error) string {
	text := strings.TrimPrefix(err.Error(), "remote error: ")
	if text != err.Error() {
		return alertText(strings.TrimPrefix(text, "tls: "))
	}
	for _, f := range failures() {
		if strings.Contains(text, f[0]) {
			return f[1]
		}
	}
	for next := errors.Unwrap(err); next != nil; next = errors.Unwrap(err) {
		err = next
	}
	return err.Error()
}

// failures are words of crypto/tls and of OpenSSL for the same.
func failures() [][2]string {
	return [][2]string{
		{"no cipher suite supported by both client and server", "error:0A0000C1:SSL routines::no shared cipher"},
		{"client offered only unsupported versions", "error:0A000102:SSL routines::unsupported protocol"},
		{"client does not support any version", "error:0A000102:SSL routines::unsupported protocol"},
		{"first record does not look like a TLS handshake", "error:0A00010B:SSL routines::wrong version number"},
		{"unsupported SSLv2 handshake received", "error:0A000102:SSL routines::unsupported protocol"},
		{"received record with version", "error:0A00010B:SSL routines::wrong version number"},
		{"bad record MAC", "error:0A000119:SSL routines::decryption failed or bad record mac"},
		{"oversized record received", "error:0A0000C6:SSL routines::packet length too long"},
		{"no ECDHE curve supported by both client and server", "error:0A000065:SSL routines::no suitable key share"},
		{"no key exchanges supported by both client and server", "error:0A000065:SSL routines::no suitable key share"},
		{"peer doesn't support any of the certificate's signature algorithms", "error:0A000076:SSL routines::no suitable signature algorithm"},
		{"client requested unsupported application protocols", "error:0A0000EB:SSL routines::no application protocol"},
		{"inappropriate protocol fallback", "error:0A000175:SSL routines::inappropriate fallback"},
		{"received unexpected handshake message", "error:0A0000F4:SSL routines::unexpected message"},
		{"error decoding message", "error:0A00009F:SSL routines::length mismatch"},
	}
}

// alertText returns what OpenSSL says of an alert that the client sent, by crypto/tls's name of it.
func alertText(name string) string {
	for _, a := range [][2]string{
		{"unexpected message", "0A0003F2:SSL routines::sslv3 alert unexpected message:SSL alert number 10"},
		{"bad record MAC", "0A0003FC:SSL routines::sslv3 alert bad record mac:SSL alert number 20"},
		{"handshake failure", "0A000410:SSL routines::sslv3 alert handshake failure:SSL alert number 40"},
		{"bad certificate", "0A000412:SSL routines::sslv3 alert bad certificate:SSL alert number 42"},
		{"unsupported certificate", "0A000413:SSL routines::sslv3 alert unsupported certificate:SSL alert number 43"},
		{"revoked certificate", "0A000414:SSL routines::sslv3 alert certificate revoked:SSL alert number 44"},
		{"expired certificate", "0A000415:SSL routines::sslv3 alert certificate expired:SSL alert number 45"},
		{"unknown certificate", "0A000416:SSL routines::sslv3 alert certificate unknown:SSL alert number 46"},
		{"illegal parameter", "0A000417:SSL routines::sslv3 alert illegal parameter:SSL alert number 47"},
		{"unknown certificate authority", "0A000418:SSL routines::tlsv1 alert unknown ca:SSL alert number 48"},
		{"access denied", "0A000419:SSL routines::tlsv1 alert access denied:SSL alert number 49"},
		{"error decoding message", "0A00041A:SSL routines::tlsv1 alert decode error:SSL alert number 50"},
		{"error decrypting message", "0A00041B:SSL routines::tlsv1 alert decrypt error:SSL alert number 51"},
		{"protocol version not supported", "0A00042E:SSL routines::tlsv1 alert protocol version:SSL alert number 70"},
		{"insufficient security level", "0A00042F:SSL routines::tlsv1 alert insufficient security:SSL alert number 71"},
		{"internal error", "0A000438:SSL routines::tlsv1 alert internal error:SSL alert number 80"},
		{"user canceled", "0A000442:SSL routines::tlsv1 alert user cancelled:SSL alert number 90"},
	} {
		if a[0] == name {
			return "error:" + a[1]
		}
	}
	return "alert " + name
}
