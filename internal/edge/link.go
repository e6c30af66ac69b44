package edge

import (
	"net"

	"github.com/limitgate/limitgate/internal/errorlog"
	"github.com/limitgate/limitgate/internal/request"
)

// Taker is an engine whose connections another engine accepts: what a client says first, or has agreed on with TLS, tells which
// of them it speaks to. The other one keeps count of the connection, drains and cuts it, and closes it in the end.
type Taker interface {
	Take(l *Link) Taken
}

// Taken is a connection that is served by another engine than the one that accepted it.
type Taken interface {
	// Serve serves the connection until nothing of it is under way. It reports whether the client may still be sending, so that
	// the connection has to be closed the lingering way. It is called once.
	Serve() (linger bool)
	// Drain lets the requests under way finish, takes no others, and ends Serve then. Any goroutine may call it, also before Serve.
	Drain()
	// Kill tells every request under way that its client has left. The socket's deadlines are the caller's to set, behind it.
	Kill()
}

// Link is a connection as it is handed over: TLS, the PROXY protocol and the first bytes are dealt with.
type Link struct {
	Conn   net.Conn // what bytes go through; its writes keep send_timeout where it is not Socket
	Socket net.Conn // below it: deadlines are its
	First  []byte   // what was read of it already; the taker's from now on
	Info   *request.Conn
	Host   Host
}

// Host is the engine that accepted a connection, to the one that serves it.
type Host interface {
	// Begun and Ended tell that a request is under way, and that it is not any more. One goroutine at a time calls them.
	Begun()
	Ended()
	// Log logs an event of the connection itself, with the client and the address it came to. Any goroutine may call it.
	Log(level errorlog.Level, msg string)
}
