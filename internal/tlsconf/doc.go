// Package tlsconf makes configurations of crypto/tls from ssl_* directives: it stands between the configuration and the edge
// that shakes hands. It reads certificates, keys and passwords, and keeps sessions for clients that come again; which server
// a client means is not its business, and nothing it says holds a secret.
package tlsconf
