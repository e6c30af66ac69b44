// Package edge is the contract between the engines that speak to clients and the program that decides. Edges translate
// between bytes and requests and hold no policy; only the packages below this one import an engine.
package edge

import "github.com/limitgate/limitgate/internal/request"

// Program is a compiled configuration as an edge sees it.
type Program interface {
	// Head returns what must be known before a request's head is read. It is nil where the program does not listen on the
	// connection's address any more: the edge closes the connection.
	Head(c *request.Conn) *request.HeadSettings
	// Serve carries the request through the phases, sends the answer and logs it. When it returns, nothing of r is used
	// any more. r.Fault set means that the head could not be read.
	Serve(r *request.Request)
}

// ServerNames are what a Server field says with each request.Tokens: on, off, build.
func ServerNames(product, version, build string) [3]string {
	full := product
	if version != "" {
		full += "/" + version
	}
	long := full
	if build != "" {
		long += " (" + build + ")"
	}
	return [3]string{full, product, long}
}

// Source hands out the running program. A request is served to its end by the program it began with.
type Source interface {
	// Acquire returns the running program and keeps it alive until Release.
	Acquire() Program
	Release(Program)
}
