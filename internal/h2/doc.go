// Package h2 is what both sides of HTTP/2 need beside frames and header compression, which golang.org/x/net/http2 has: windows
// of flow control, bounds of settings, which fields may stand in a head, and how heads and frames are written. It has no sockets
// and no policy: internal/edge/h2 serves clients with it, and whoever asks an upstream can.
package h2
