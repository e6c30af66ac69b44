// Package openssl speaks OpenSSL's language for crypto/tls: the names of ciphers, groups and versions, the strings that
// choose among them, and the words of a failed handshake. It stands beside whoever makes or logs a TLS connection, and
// decides nothing: it holds tables and opens no file.
package openssl
