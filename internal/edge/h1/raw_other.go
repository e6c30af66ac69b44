//go:build !linux || !(amd64 || arm64)

package h1

import (
	"errors"
	"net"
)

// raw is the readiness-first way to a socket, which this platform doesn't have: every connection goes the portable way.
type raw struct{ ready bool }

var errNoRaw = errors.New("raw sockets are not supported here")

func (w *raw) open(*conn) {}

func prepareListener(net.Listener) {}

func (w *raw) write([]byte) (int, error) { return 0, errNoRaw }

func (w *raw) writev(_, _ []byte, _ string) (int, error) { return 0, errNoRaw }

func (c *conn) writeSlowly([]byte) error { return errNoRaw }

func (c *conn) runReady() { c.runPortable() }
