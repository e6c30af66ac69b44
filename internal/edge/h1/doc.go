// Package h1 is the HTTP/1.1 edge: it stands between client connections and the program, turns bytes into requests on the
// codec of internal/h1, and carries answers back. It decides nothing about a request; it owns connections, their order,
// their timeouts and their end.
//
// One goroutine serves a connection. On Linux it works inside syscall.RawConn.Read (raw_linux.go): it waits until the socket is
// readable and only then reads, parses, serves and writes, so that a request on a kept connection costs two system calls
// and nothing is tried in vain. What needs more reading while it is served (bodies that did not come whole, upgrades), other
// platforms, and connections that are no plain socket (TLS) go the portable way over net.Conn. Both ways share everything
// but the reading.
//
// An idle connection holds no buffer and no request: those are taken from a pool when bytes arrive. Only the connection's
// goroutine closes its socket; everybody else who wants it to end sets a deadline in the past.
package h1
